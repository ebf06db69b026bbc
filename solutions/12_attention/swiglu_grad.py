"""Backward pass of SwiGLU. The lesson is README.md in this folder."""


def swiglu_grad(inp, w1, w2, out):
    """Store the gradient of the loss in `inp.g`, `w1.g` and `w2.g`.

    Forward: `linear = inp @ w1`, `gate = inp @ w2`, `out = linear * (gate * gate.sigmoid())`, entry by entry; the
    second factor is silu of `gate`. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, n)
    w1: (n, m)
    w2: (n, m)
    out: (bs, m), and so is out.g
    """
    ### BEGIN SOLUTION
    # In a product the gradient of each factor is the other factor times out.g; inp feeds both, so two paths add.
    value, gate = inp @ w1, inp @ w2
    share = gate.sigmoid()
    value_g = out.g * gate * share
    gate_g = out.g * value * share * (1 + gate * (1 - share))
    inp.g = value_g @ w1.t() + gate_g @ w2.t()
    w1.g = inp.t() @ value_g
    w2.g = inp.t() @ gate_g
    ### END SOLUTION

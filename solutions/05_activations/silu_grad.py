"""SiLU, backwards. The lesson is README.md in this folder."""


def silu_grad(inp, out):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp * inp.sigmoid()`, entry by entry. The gradient of the loss with respect to `out` is
    already in `out.g`.

    inp: any shape
    out: the shape of inp, and so is out.g
    """
    ### BEGIN SOLUTION
    # Two paths: the factor inp gives the gate; inp in the gate gives inp * gate * (1 - gate), and inp * gate is out.
    gate = inp.sigmoid()
    inp.g = (gate + out * (1 - gate)) * out.g
    ### END SOLUTION

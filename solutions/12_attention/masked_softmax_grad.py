"""Backward pass of a masked softmax. The lesson is README.md in this folder."""


def masked_softmax_grad(scores, out, mask):
    """Store the gradient of the loss in `scores.g`.

    Forward: `out = scores.masked_fill(~mask, float("-inf")).softmax(-1)`, each row on its own. The gradient of the loss
    with respect to `out` is already in `out.g`.

    scores: (s, t)
    out: (s, t), and so is out.g
    mask: (s, t), bool: True where a score takes part; each row has at least one
    """
    ### BEGIN SOLUTION
    # What is masked has weight 0 in out, and the gradient of softmax multiplies by the weight: the mask is in it.
    scores.g = out * (out.g - (out.g * out).sum(-1, keepdim=True))
    ### END SOLUTION

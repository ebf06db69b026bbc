"""A straight-through estimator. The lesson is README.md in this folder."""


def straight_through_grad(inp, out):
    """Store the substitute gradient in `inp.g`.

    Forward: `out = inp.sign()`, whose derivative is 0. Use the gradient of `clamped = inp.clamp(-1, 1)` in its place,
    as if that had been the forward pass. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: any shape
    out: the shape of inp, and so is out.g
    """
    ### BEGIN SOLUTION
    # Where the clamp is flat a step could only lead further away, so there the gradient ends; elsewhere it passes.
    inp.g = out.g * (inp.abs() < 1)
    ### END SOLUTION

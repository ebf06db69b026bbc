"""One over the input, backwards. The lesson is README.md in this folder."""


def inv_grad(inp, out):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = 1 / inp`, entry by entry. The gradient of the loss with respect to `out` is
    already in `out.g`.

    inp: any shape, no entry zero
    out: the shape of inp, and so is out.g
    """
    ### BEGIN SOLUTION
    # The power rule with k = -1 gives -1 / inp**2: out falls where inp rises.
    inp.g = -out.g / inp**2
    ### END SOLUTION

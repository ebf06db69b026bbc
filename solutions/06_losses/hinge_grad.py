"""The hinge loss, backwards. The lesson is README.md in this folder."""


def hinge_grad(inp, targ):
    """Store the gradient of the loss in `inp.g`.

    Forward: `loss = (1 - targ * inp).clamp_min(0).mean()`. An example costs nothing once `targ * inp` is 1 or more.

    inp: (bs,), scores; inp.g has the same shape
    targ: (bs,), each 1 or -1: the class
    """
    ### BEGIN SOLUTION
    # The mask is made from what went into the clamp: 1 - targ * inp is positive where targ * inp is below 1.
    inp.g = -targ * (targ * inp < 1) / len(inp)
    ### END SOLUTION

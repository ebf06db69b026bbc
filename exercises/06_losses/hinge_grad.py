"""The hinge loss, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def hinge_grad(inp, targ):
    """Store the gradient of the loss in `inp.g`.

    Forward: `loss = (1 - targ * inp).clamp_min(0).mean()`. An example costs nothing once `targ * inp` is 1 or more.

    inp: (bs,), scores; inp.g has the same shape
    targ: (bs,), each 1 or -1: the class
    """
    inp.g = ...

"""The slope of a curve by a central difference. The lesson is README.md in this folder."""


def central_difference(f, x, h):
    """Return the central difference of `f` at `x`, with a step of size `h` to either side.

    f: a function that takes a float and returns a float
    x: a float
    h: a positive float
    """
    ### BEGIN SOLUTION
    # The two points are 2h apart, and the bend of the curve moves both by the same amount, so it cancels.
    return (f(x + h) - f(x - h)) / (2 * h)
    ### END SOLUTION

"""The slope of a curve by a forward difference. The lesson is README.md in this folder."""


def slope(f, x, h):
    """Return the forward difference of `f` at `x`: the slope that one step of size `h` ahead measures.

    f: a function that takes a float and returns a float
    x: a float
    h: a positive float
    """
    ### BEGIN SOLUTION
    # The rise divided by the step: how far f moves for each unit that x moves.
    return (f(x + h) - f(x)) / h
    ### END SOLUTION

"""The slope of a curve by a forward difference. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def slope(f, x, h):
    """Return the forward difference of `f` at `x`: the slope that one step of size `h` ahead measures.

    f: a function that takes a float and returns a float
    x: a float
    h: a positive float
    """
    return ...

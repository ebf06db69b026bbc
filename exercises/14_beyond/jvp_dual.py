"""Forward mode with dual numbers. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def jvp_dual(f, x, v):
    """Return the Jacobian of `f` at `x`, times `v`: how fast `f(x)` changes while `x` moves along `v`; not measured.

    Give `f` dual numbers of your own: a class with a value and its tangent, the rate at which it moves. All that `f`
    does with what it is given is `+`, `-`, `*` and `/`, also with a plain number on either side, `-x`, `x**3` (the
    exponent is a plain number), `x[0]`, `x.sin()`, `x.cos()`, `x.exp()` and `x.sum()`.

    f: a function of an array (n,) whose result is (n,), too
    x: (n,), float64
    v: (n,), float64, the tangent of x
    returns: (n,), the tangent of f(x)
    """

    return ...

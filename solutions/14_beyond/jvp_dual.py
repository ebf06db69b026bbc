"""Forward mode with dual numbers. The lesson is README.md in this folder."""


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

    ### BEGIN SOLUTION
    # Every operation makes a value and its tangent at once, so nothing has to be kept for a way back.
    def lift(number):
        return number if isinstance(number, Dual) else Dual(number, 0.0)

    class Dual:
        def __init__(self, value, tangent):
            self.value, self.tangent = value, tangent

        def __add__(self, other):
            other = lift(other)
            return Dual(self.value + other.value, self.tangent + other.tangent)

        def __mul__(self, other):
            other = lift(other)
            return Dual(self.value * other.value, self.tangent * other.value + self.value * other.tangent)

        def __pow__(self, n):
            return Dual(self.value**n, n * self.value ** (n - 1) * self.tangent)

        def __neg__(self):
            return self * -1

        def __sub__(self, other):
            return self + lift(other) * -1

        def __rsub__(self, other):
            return lift(other) - self

        def __truediv__(self, other):
            return self * lift(other) ** -1

        def __rtruediv__(self, other):
            return lift(other) * self**-1

        def __getitem__(self, i):
            return Dual(self.value[i], self.tangent[i])

        def sin(self):
            return Dual(self.value.sin(), self.value.cos() * self.tangent)

        def cos(self):
            return Dual(self.value.cos(), -self.value.sin() * self.tangent)

        def exp(self):
            return Dual(self.value.exp(), self.value.exp() * self.tangent)

        def sum(self):
            return Dual(self.value.sum(), self.tangent.sum())

        __radd__, __rmul__ = __add__, __mul__

    return f(Dual(x, v)).tangent
    ### END SOLUTION

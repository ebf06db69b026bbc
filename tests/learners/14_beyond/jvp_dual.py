# jvp_dual: the tangent of f(x) where that of x is v, with dual numbers

# %% right: a class beside the function
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% right: numbers apart from dual numbers, by isinstance in each method
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        if isinstance(o, Dual):
            return Dual(self.p + o.p, self.t + o.t)
        return Dual(self.p + o, self.t)

    def __radd__(self, o):
        return self + o

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        return self + (-o)

    def __rsub__(self, o):
        return (-self) + o

    def __mul__(self, o):
        if isinstance(o, Dual):
            return Dual(self.p * o.p, self.t * o.p + self.p * o.t)
        return Dual(self.p * o, self.t * o)

    def __rmul__(self, o):
        return self * o

    def __truediv__(self, o):
        if isinstance(o, Dual):
            return self * o.reciprocal()
        return self * (1 / o)

    def __rtruediv__(self, o):
        return self.reciprocal() * o

    def reciprocal(self):
        return Dual(1 / self.p, -self.t / (self.p * self.p))

    def __pow__(self, n):
        out = self
        for _ in range(n - 1):
            out = out * self
        return out

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.t * self.p.cos())

    def cos(self):
        return Dual(self.p.cos(), self.t * -self.p.sin())

    def exp(self):
        e = self.p.exp()
        return Dual(e, self.t * e)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% right: a complex number with a tiny imaginary part
import torch


def jvp_dual(f, x, v):
    return f(torch.complex(x, 1e-25 * v)).imag / 1e-25


# %% right: a tuple for a dual number, with numpy inside
import numpy as np
import torch


class D(tuple):
    def __new__(cls, a, b=0.0):
        return tuple.__new__(cls, (np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)))

    def lift(o):
        return o if isinstance(o, D) else D(o)

    def __add__(self, o):
        (a, b), (c, d) = self, D.lift(o)
        return D(a + c, b + d)

    def __mul__(self, o):
        (a, b), (c, d) = self, D.lift(o)
        return D(a * c, b * c + a * d)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return self * -1.0

    def __sub__(self, o):
        return self + -D.lift(o)

    def __rsub__(self, o):
        return D.lift(o) - self

    def __pow__(self, n):
        a, b = self
        return D(a**float(n), n * a ** float(n - 1) * b)

    def __truediv__(self, o):
        return self * D.lift(o) ** -1

    def __rtruediv__(self, o):
        return D.lift(o) * self**-1

    def __getitem__(self, i):
        a, b = tuple.__iter__(self)
        return D(a[i], b[i])

    def sin(self):
        a, b = self
        return D(np.sin(a), np.cos(a) * b)

    def cos(self):
        a, b = self
        return D(np.cos(a), -np.sin(a) * b)

    def exp(self):
        a, b = self
        return D(np.exp(a), np.exp(a) * b)

    def sum(self):
        a, b = self
        return D(a.sum(), b.sum())


def jvp_dual(f, x, v):
    _, tangent = f(D(x.numpy(), v.numpy()))
    return torch.from_numpy(tangent)


# %% wrong: product rule with one half | return: missing-path
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: product rule with the other half | return: missing-path
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: tangents multiplied in a product | return: wrong-local
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: product rule with a minus | return: wrong-sign
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p - self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: each tangent times its own value in a product | return: wrong-operand
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * self.p + o.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: product rule with one half, where both are dual | return: missing-path
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        if isinstance(o, Dual):
            return Dual(self.p * o.p, self.t * o.p)
        return Dual(self.p * o, self.t * o)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: quotient rule with a plus | return: wrong-sign
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p + self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: quotient rule the other way round | return: wrong-sign
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.p * o.t - self.t * o.p) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: denominator not squared | return: wrong-local
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: quotient without the division by the square | return: missing-local
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, self.t * o.p - self.p * o.t)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: quotient follows the numerator alone | return: missing-path
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, self.t / o.p)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: tangents divided in a quotient | return: not-finite or unknown
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, self.t / o.t)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: number over x with the wrong sign, and only there | return: wrong-sign or unknown
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return Dual(o / self.p, o * self.t / self.p**2)

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: number less x keeps the sign of the tangent | return: wrong-sign
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return Dual(o - self.p, self.t)

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: number less x the wrong way round | return: wrong-sign or unknown
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return self - o

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: differences add the tangents | return: wrong-sign
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t + o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: exponent not lowered | return: wrong-local
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p**n * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: exponent missing as a factor | return: missing-local
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: power without the tangent | return: missing-upstream
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1))

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: tangent raised to the power | return: wrong-local
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, self.t**n)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: minus of cos missing | return: wrong-sign
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: sin and cos have a minus each | return: wrong-sign or unknown
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), -self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: sin of the tangent | return: wrong-local
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.t.sin())

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: tangent missing in sin | return: missing-upstream
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos())

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: tangent of exp handed on | return: missing-local
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: sum leaves the tangent long | return: broadcast-accident
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t)


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: mean of the tangents in sum | return: mean-for-sum
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.mean())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: numbers move at the rate 1 | return: wrong-local
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 1.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: minus x keeps its tangent | return: wrong-sign
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: v left out, tangent of ones | return: missing-upstream
import torch


class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, torch.ones_like(x))).t


# %% wrong: v multiplied at the end | return: elementwise-for-matmul
import torch


class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, torch.ones_like(x))).t * v


# %% wrong: value returned | return: forward-value
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).p


# %% wrong: value and tangent returned | return: wrong-type
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    out = f(Dual(x, v))
    return out.p, out.t


# %% wrong: the dual number itself returned | return: wrong-type
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v))


# %% wrong: x and v exchanged | return: wrong-operand
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(v, x)).t


# %% wrong: no method for 3 / x | return: error
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: central difference | return: imprecise
def jvp_dual(f, x, v):
    h = 1e-5
    return (f(x + h * v) - f(x - h * v)) / (2 * h)


# %% wrong: forward difference | return: imprecise or unknown
def jvp_dual(f, x, v):
    h = 1e-6
    return (f(x + h * v) - f(x)) / h


# %% wrong: f taken at x + v | return: forward-value
def jvp_dual(f, x, v):
    return f(x + v)


# %% wrong: torch's forward mode | return: used-autograd
import torch


def jvp_dual(f, x, v):
    return torch.func.jvp(f, (x,), (v,))[1]


# %% wrong: torch's dual numbers | return: used-autograd
import torch.autograd.forward_ad as fwAD


def jvp_dual(f, x, v):
    with fwAD.dual_level():
        return fwAD.unpack_dual(f(fwAD.make_dual(x, v))).tangent


# %% wrong: reverse mode in place of forward mode | return: used-autograd
def jvp_dual(f, x, v):
    x = x.clone().requires_grad_()
    (f(x) * v).sum().backward()
    return x.grad


# %% wrong: denominator cubed | return: wrong-local
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**3)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: exp less one in the tangent of exp | return: wrong-local
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), (self.p.exp() - 1) * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: tangents averaged in a sum | return: wrong-factor
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, (self.t + o.t) / 2)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: a number plus x loses the tangent | return: wrong-local
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    def __radd__(self, o):
        return Dual(self.p + o, 0 * self.t)

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: a number times x leaves the tangent as it is | return: wrong-local or missing-local
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    def __rmul__(self, o):
        return Dual(o * self.p, self.t)

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: x over a number leaves the tangent as it is | return: wrong-local or missing-local
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        if not isinstance(o, Dual):
            return Dual(self.p / o, self.t)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t


# %% wrong: v multiplied once more at the end | return: extra-factor
class Dual:
    def __init__(self, p, t):
        self.p, self.t = p, t

    def __add__(self, o):
        o = to_dual(o)
        return Dual(self.p + o.p, self.t + o.t)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.p, -self.t)

    def __sub__(self, o):
        o = to_dual(o)
        return Dual(self.p - o.p, self.t - o.t)

    def __rsub__(self, o):
        return to_dual(o) - self

    def __mul__(self, o):
        o = to_dual(o)
        return Dual(self.p * o.p, self.t * o.p + self.p * o.t)

    __rmul__ = __mul__

    def __truediv__(self, o):
        o = to_dual(o)
        return Dual(self.p / o.p, (self.t * o.p - self.p * o.t) / o.p**2)

    def __rtruediv__(self, o):
        return to_dual(o) / self

    def __pow__(self, n):
        return Dual(self.p**n, n * self.p ** (n - 1) * self.t)

    def __getitem__(self, i):
        return Dual(self.p[i], self.t[i])

    def sin(self):
        return Dual(self.p.sin(), self.p.cos() * self.t)

    def cos(self):
        return Dual(self.p.cos(), -self.p.sin() * self.t)

    def exp(self):
        return Dual(self.p.exp(), self.p.exp() * self.t)

    def sum(self):
        return Dual(self.p.sum(), self.t.sum())


def to_dual(o):
    return o if isinstance(o, Dual) else Dual(o, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).t * v


# %% right: negatives, differences and quotients are made of products
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

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + lift(other) * -1

    def __rsub__(self, other):
        return self * -1 + other

    def __truediv__(self, other):
        return self * lift(other) ** -1

    def __rtruediv__(self, other):
        return self**-1 * other

    def __getitem__(self, i):
        return Dual(self.value[i], self.tangent[i])

    def sin(self):
        return Dual(self.value.sin(), self.value.cos() * self.tangent)

    def cos(self):
        return Dual(self.value.cos(), self.value.sin() * self.tangent * -1)

    def exp(self):
        return Dual(self.value.exp(), self.value.exp() * self.tangent)

    def sum(self):
        return Dual(self.value.sum(), self.tangent.sum())


def lift(number):
    return number if isinstance(number, Dual) else Dual(number, 0.0)


def jvp_dual(f, x, v):
    return f(Dual(x, v)).tangent


# %% wrong: product follows the first factor, and so quotients do | return: missing-path
# base: negatives, differences and quotients are made of products

#-         return Dual(self.value * other.value, self.tangent * other.value + self.value * other.tangent)
#+         return Dual(self.value * other.value, self.tangent * other.value)


# %% wrong: product follows the second factor, and so differences and quotients do | return: missing-path
# base: negatives, differences and quotients are made of products

#-         return Dual(self.value * other.value, self.tangent * other.value + self.value * other.tangent)
#+         return Dual(self.value * other.value, self.value * other.tangent)


# %% wrong: product follows the second factor, a number is lifted to be the first factor of a quotient | return: missing-path
# base: negatives, differences and quotients are made of products

#-         return Dual(self.value * other.value, self.tangent * other.value + self.value * other.tangent)
#+         return Dual(self.value * other.value, self.value * other.tangent)

#-         return self**-1 * other
#+         return lift(other) * self**-1


# %% wrong: product rule with a minus, and so quotients | return: wrong-sign
# base: negatives, differences and quotients are made of products

#-         return Dual(self.value * other.value, self.tangent * other.value + self.value * other.tangent)
#+         return Dual(self.value * other.value, self.tangent * other.value - self.value * other.tangent)


# %% wrong: tangents multiplied in a product, and so in a quotient | return: wrong-local
# base: negatives, differences and quotients are made of products

#-         return Dual(self.value * other.value, self.tangent * other.value + self.value * other.tangent)
#+         return Dual(self.value * other.value, self.tangent * other.tangent)


# %% wrong: exponent not lowered, and quotients are made of powers | return: wrong-local
# base: negatives, differences and quotients are made of products

#-         return Dual(self.value**n, n * self.value ** (n - 1) * self.tangent)
#+         return Dual(self.value**n, n * self.value**n * self.tangent)


# %% wrong: exponent missing as a factor, and quotients are made of powers | return: missing-local
# base: negatives, differences and quotients are made of products

#-         return Dual(self.value**n, n * self.value ** (n - 1) * self.tangent)
#+         return Dual(self.value**n, self.value ** (n - 1) * self.tangent)

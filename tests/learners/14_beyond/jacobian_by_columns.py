# jacobian_by_columns: every column of the Jacobian by one pass of forward mode

# %% right: complex numbers
import torch


def jacobian_by_columns(f, x):
    columns = []
    for i in range(len(x)):
        e = torch.zeros_like(x)
        e[i] = 1
        columns.append(f(torch.complex(x, 1e-30 * e)).imag / 1e-30)
    return torch.stack(columns, 1)


# %% right: dual numbers and the identity's rows
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


def jacobian_by_columns(f, x):
    return torch.stack([f(Dual(x, e)).t for e in torch.eye(len(x), dtype=x.dtype)], dim=-1)


# %% right: an array that is filled column by column, once its height is known
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


def jacobian_by_columns(f, x):
    jacobian = None
    for j in range(x.shape[0]):
        e = torch.zeros(x.shape[0], dtype=torch.float64)
        e[j] = 1.0
        column = f(Dual(x, e)).t
        if jacobian is None:
            jacobian = torch.empty(len(column), len(x), dtype=torch.float64)
        jacobian[:, j] = column
    return jacobian


# %% right: rows stacked and turned round, numpy
import numpy as np
import torch


def jacobian_by_columns(f, x):
    rows = [f(torch.complex(x, torch.from_numpy(1e-20 * e))).imag.numpy() / 1e-20 for e in np.eye(len(x))]
    return torch.from_numpy(np.array(rows).T.copy())


# %% wrong: columns stacked as rows | return: transposed
import torch


def jacobian_by_columns(f, x):
    columns = []
    for i in range(len(x)):
        e = torch.zeros_like(x)
        e[i] = 1
        columns.append(f(torch.complex(x, 1e-30 * e)).imag / 1e-30)
    return torch.stack(columns)


# %% wrong: the division by the tiny step left out | return: hard-coded or wrong-factor or missing-local or unknown
import torch


def jacobian_by_columns(f, x):
    columns = []
    for i in range(len(x)):
        e = torch.zeros_like(x)
        e[i] = 1
        columns.append(f(torch.complex(x, 1e-30 * e)).imag)
    return torch.stack(columns, 1)


# %% wrong: real part | return: forward-value
import torch


def jacobian_by_columns(f, x):
    columns = []
    for i in range(len(x)):
        e = torch.zeros_like(x)
        e[i] = 1
        columns.append(f(torch.complex(x, 1e-30 * e)).real)
    return torch.stack(columns, 1)


# %% wrong: all entries move at once | return: broadcast-accident
import torch


def jacobian_by_columns(f, x):
    columns = []
    for i in range(len(x)):
        e = torch.zeros_like(x)
        e[:] = 1
        columns.append(f(torch.complex(x, 1e-30 * e)).imag / 1e-30)
    return torch.stack(columns, 1)


# %% wrong: direction never reset | return: stale-gradient
import torch


def jacobian_by_columns(f, x):
    columns = []
    e = torch.zeros_like(x)
    for i in range(len(x)):
        e[i] = 1
        columns.append(f(torch.complex(x, 1e-30 * e)).imag / 1e-30)
    return torch.stack(columns, 1)


# %% wrong: x in the direction | return: wrong-operand
import torch


def jacobian_by_columns(f, x):
    columns = []
    for i in range(len(x)):
        e = torch.zeros_like(x)
        e[i] = x[i]
        columns.append(f(torch.complex(x, 1e-30 * e)).imag / 1e-30)
    return torch.stack(columns, 1)


# %% wrong: only the last column kept | return: wrong-shape or overwritten
import torch


def jacobian_by_columns(f, x):
    columns = []
    for i in range(len(x)):
        e = torch.zeros_like(x)
        e[i] = 1
        columns = [f(torch.complex(x, 1e-30 * e)).imag / 1e-30]
    return torch.stack(columns, 1)


# %% wrong: a vector of all sums returned | return: wrong-shape or summed-wrong-axis
import torch


def jacobian_by_columns(f, x):
    columns = []
    for i in range(len(x)):
        e = torch.zeros_like(x)
        e[i] = 1
        columns.append(f(torch.complex(x, 1e-30 * e)).imag / 1e-30)
    return sum(columns)


# %% wrong: list of columns returned | return: wrong-type
import torch


def jacobian_by_columns(f, x):
    columns = []
    for i in range(len(x)):
        e = torch.zeros_like(x)
        e[i] = 1
        columns.append(f(torch.complex(x, 1e-30 * e)).imag / 1e-30)
    return columns


# %% wrong: last column forgotten | return: wrong-shape
import torch


def jacobian_by_columns(f, x):
    columns = []
    for i in range(len(x) - 1):
        e = torch.zeros_like(x)
        e[i] = 1
        columns.append(f(torch.complex(x, 1e-30 * e)).imag / 1e-30)
    return torch.stack(columns, 1)


# %% wrong: columns joined end to end | return: wrong-shape
import torch


def jacobian_by_columns(f, x):
    columns = []
    for i in range(len(x)):
        e = torch.zeros_like(x)
        e[i] = 1
        columns.append(f(torch.complex(x, 1e-30 * e)).imag / 1e-30)
    return torch.cat(columns)


# %% wrong: turned twice | return: transposed
import torch


def jacobian_by_columns(f, x):
    columns = []
    for i in range(len(x)):
        e = torch.zeros_like(x)
        e[i] = 1
        columns.append(f(torch.complex(x, 1e-30 * e)).imag / 1e-30)
    return torch.stack(columns, 1).t()


# %% wrong: reshaped in place of turned round | return: reshape-for-transpose
import torch


def jacobian_by_columns(f, x):
    columns = []
    for i in range(len(x)):
        e = torch.zeros_like(x)
        e[i] = 1
        columns.append(f(torch.complex(x, 1e-30 * e)).imag / 1e-30)
    return torch.stack(columns).reshape(-1, len(x))


# %% wrong: columns in the other order | return: wrong-operand
import torch


def jacobian_by_columns(f, x):
    columns = []
    for i in range(len(x)):
        e = torch.zeros_like(x)
        e[i] = 1
        columns.append(f(torch.complex(x, 1e-30 * e)).imag / 1e-30)
    return torch.stack(columns[::-1], 1)


# %% wrong: negative directions | return: wrong-sign
import torch


def jacobian_by_columns(f, x):
    columns = []
    for i in range(len(x)):
        e = torch.zeros_like(x)
        e[i] = -1
        columns.append(f(torch.complex(x, 1e-30 * e)).imag / 1e-30)
    return torch.stack(columns, 1)


# %% wrong: central differences | return: imprecise
import torch


def jacobian_by_columns(f, x):
    h = 1e-4
    columns = []
    for i in range(len(x)):
        e = torch.zeros_like(x)
        e[i] = h
        columns.append((f(x + e) - f(x - e)) / (2 * h))
    return torch.stack(columns, 1)


# %% wrong: values as columns | return: forward-value
import torch


def jacobian_by_columns(f, x):
    return torch.stack([f(x) for _ in x], 1)


# %% wrong: torch's jacobian | return: used-autograd
import torch


def jacobian_by_columns(f, x):
    return torch.autograd.functional.jacobian(f, x)


# %% wrong: only the first column filled | return: overwritten
import torch


def jacobian_by_columns(f, x):
    jacobian = torch.zeros(len(f(x)), len(x), dtype=x.dtype)
    for i in range(len(x)):
        e = torch.zeros_like(x)
        e[i] = 1
        jacobian[:, i] = f(torch.complex(x, 1e-30 * e)).imag / 1e-30
        return jacobian


# %% wrong: last column left at zero | return: partial-batch
import torch


class Dual:
    def __init__(self, value, tangent):
        self.value, self.tangent = value, tangent

    @staticmethod
    def lift(other):
        return other if isinstance(other, Dual) else Dual(other, 0.0)

    def __add__(self, other):
        other = Dual.lift(other)
        return Dual(self.value + other.value, self.tangent + other.tangent)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.value, -self.tangent)

    def __sub__(self, other):
        other = Dual.lift(other)
        return Dual(self.value - other.value, self.tangent - other.tangent)

    def __rsub__(self, other):
        return Dual.lift(other) - self

    def __mul__(self, other):
        other = Dual.lift(other)
        return Dual(self.value * other.value, self.tangent * other.value + self.value * other.tangent)

    __rmul__ = __mul__

    def __truediv__(self, other):
        other = Dual.lift(other)
        return Dual(
            self.value / other.value,
            (self.tangent * other.value - self.value * other.tangent) / (other.value * other.value),
        )

    def __rtruediv__(self, other):
        return Dual.lift(other) / self

    def __pow__(self, k):
        return Dual(self.value**k, k * self.value ** (k - 1) * self.tangent)

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


def jacobian_by_columns(f, x):
    columns = []
    for i in range(len(x) - 1):
        e = torch.zeros_like(x)
        e[i] = 1.0
        columns.append(f(Dual(x, e)).tangent)
    columns.append(torch.zeros_like(f(x)))
    return torch.stack(columns, 1)

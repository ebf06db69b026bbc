# dz_dy: z = 3 * y**2

# %% right: computed in float64, rounded at the end
import torch


def dz_dy(y):
    g = y.to(torch.float64) * 6
    return g.to(y.dtype)


# %% right: through NumPy and back
import numpy as np
import torch


def dz_dy(y):
    a = y.numpy()
    return torch.from_numpy(np.multiply(6, a, dtype=a.dtype))


# %% right: the product rule
def dz_dy(y):
    # 3 * (y' y + y y')
    one = 1.0
    return 3 * (one * y + y * one)


# %% right: a sum over the two uses of y
def dz_dy(y):
    left = 3 * y   # from the first y
    right = 3 * y  # from the second y
    return left + right


# %% wrong: measured in float32 | return: imprecise
def dz_dy(y):
    h = 1e-3
    z = lambda t: 3 * t * t
    return (z(y + h) - z(y - h)) / (2 * h)


# %% wrong: 3 missing | return: missing-local
def dz_dy(y):
    return 2 * y


# %% wrong: only one of the two uses of y | return: missing-path or missing-local or wrong-factor
def dz_dy(y):
    return 3 * y


# %% wrong: 2 and 3 added instead of multiplied | return: wrong-factor or wrong-local
def dz_dy(y):
    return (3 + 2) * y


# %% wrong: 2 added to y again | return: wrong-point
def dz_dy(y):
    return 6 * (y + 2)


# %% wrong: z returned instead of its derivative | return: forward-value
def dz_dy(y):
    z = 3 * y * y
    return z


# %% wrong: always 6, the answer for y = 1 | return: hard-coded
import torch


def dz_dy(y):
    return torch.full_like(y, 6.0)


# %% wrong: the derivative of a cube | return: wrong-local
def dz_dy(y):
    return 9 * y**2


# %% wrong: exponent not lowered | return: wrong-local
def dz_dy(y):
    return 6 * y**2


# %% wrong: the colon after the def missing | *: syntax-error
def dz_dy(y)
    return 6 * y


# %% wrong: twice z over y, which has no value where y is 0 | return: not-finite
def dz_dy(y):
    z = 3 * y**2
    return 2 * z / y

# pow_both_grad: out = a ** b

# %% right: by the logarithm and e
def pow_both_grad(a, b, out):
    l = a.log()
    a.g = b * (l * (b - 1)).exp() * out.g
    b.g = (l * b).exp() * l * out.g


# %% right: out divided by a
import torch


def pow_both_grad(a, b, out):
    a.g = out.g * out * b / a
    b.g = out * torch.log(a) * out.g


# %% right: NumPy in float64
import numpy as np
import torch


def pow_both_grad(a, b, out):
    x, y, g = a.numpy().astype("float64"), b.numpy().astype("float64"), out.g.numpy()
    a.g = torch.from_numpy((g * y * np.power(x, y - 1)).astype("float32"))
    b.g = torch.from_numpy((g * np.power(x, y) * np.log(x)).astype("float32"))


# %% wrong: exponent not lowered | a.g: wrong-local or extra-factor
def pow_both_grad(a, b, out):
    a.g = out.g * b * a ** b
    b.g = out.g * out * a.log()


# %% wrong: factor b forgotten | a.g: missing-local or extra-factor
def pow_both_grad(a, b, out):
    a.g = out.g * a ** (b - 1)
    b.g = out.g * out * a.log()


# %% wrong: logarithm forgotten | b.g: missing-local or wrong-local
def pow_both_grad(a, b, out):
    a.g = out.g * b * a ** (b - 1)
    b.g = out.g * out


# %% wrong: logarithm of b | b.g: wrong-operand or not-finite or wrong-local
def pow_both_grad(a, b, out):
    a.g = out.g * b * a ** (b - 1)
    b.g = out.g * out * b.abs().log()


# %% wrong: b treated like a | b.g: wrong-local or unknown or wrong-operand or missing-local
def pow_both_grad(a, b, out):
    a.g = out.g * b * a ** (b - 1)
    b.g = out.g * a * a ** (b - 1)


# %% wrong: base ten | b.g: wrong-factor
def pow_both_grad(a, b, out):
    a.g = out.g * b * a ** (b - 1)
    b.g = out.g * out * a.log10()


# %% wrong: logarithm of out | b.g: wrong-point or wrong-operand or extra-factor
def pow_both_grad(a, b, out):
    a.g = out.g * b * a ** (b - 1)
    b.g = out.g * out * out.log()


# %% wrong: a and b exchanged | a.g, b.g: wrong-operand or wrong-local or not-finite or unknown or wrong-point
def pow_both_grad(a, b, out):
    a.g = out.g * out * a.log()
    b.g = out.g * b * a ** (b - 1)


# %% wrong: upstream gradient missing | a.g, b.g: missing-upstream
def pow_both_grad(a, b, out):
    a.g = b * a ** (b - 1)
    b.g = out * a.log()


# %% wrong: divided by the logarithm | b.g: wrong-local or wrong-operand
def pow_both_grad(a, b, out):
    a.g = out.g * b * a ** (b - 1)
    b.g = out.g * out / a.log()


# %% wrong: sign of b.g | b.g: wrong-sign
def pow_both_grad(a, b, out):
    a.g = out.g * b * a ** (b - 1)
    b.g = -out.g * out * a.log()


# %% wrong: out not there for b | b.g: missing-local or extra-factor
def pow_both_grad(a, b, out):
    a.g = out.g * b * a ** (b - 1)
    b.g = out.g * a.log()


# %% wrong: exponent raised | a.g: wrong-local or unknown
def pow_both_grad(a, b, out):
    a.g = out.g * b * a ** (b + 1)
    b.g = out.g * out * a.log()


# %% wrong: one exponent for all | a.g: wrong-operand or wrong-point or unknown or wrong-local
def pow_both_grad(a, b, out):
    k = b.mean()
    a.g = out.g * k * a ** (k - 1)
    b.g = out.g * out * a.log()


# %% wrong: log a from the logarithm of out over b, where b may be 0 | b.g: not-finite
def pow_both_grad(a, b, out):
    a.g = out.g * b * a ** (b - 1)
    b.g = out.g * out * out.log() / b

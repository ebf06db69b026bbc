# gelu_grad: out = inp * (1 + (inp / sqrt(2)).erf()) / 2

# %% right: tail by erfc, and addcmul
import math

import torch


def gelu_grad(inp, out):
    tail = torch.erfc(inp / math.sqrt(2)) / 2
    bell = torch.exp(-inp * inp / 2) * 0.3989422804014327
    inp.g = torch.addcmul(out.g, out.g, inp * bell - tail)


# %% right: a normal distribution's cdf and density
import torch


def gelu_grad(inp, out):
    n = torch.distributions.Normal(0.0, 1.0)
    inp.g = out.g * (n.cdf(inp) + inp * n.log_prob(inp).exp())


# %% right: plain floats, one entry after the other
import math

import torch


def slope(x):
    return math.erf(x / math.sqrt(2)) / 2 + 0.5 + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def gelu_grad(inp, out):
    slopes = [slope(x) for x in inp.flatten().tolist()]
    inp.g = torch.tensor(slopes).reshape(inp.shape) * out.g


# %% right: special.ndtr in float64
import torch


def gelu_grad(inp, out):
    x = inp.double()
    phi = torch.special.ndtr(x)
    bell = torch.distributions.Normal(0.0, 1.0).log_prob(x).exp()
    inp.g = ((phi + x * bell) * out.g).to(inp.dtype)


# %% right: cumulative share by erfc
import math
import torch


def gelu_grad(inp, out):
    phi = torch.exp(-0.5 * inp * inp) * 0.3989422804014327
    inp.g = out.g * (0.5 * torch.erfc(-inp / math.sqrt(2)) + inp * phi)


# %% wrong: upstream gradient missing | inp.g: missing-upstream
import math


def gelu_grad(inp, out):
    cdf = 0.5 * (1 + (inp / math.sqrt(2)).erf())
    pdf = (-0.5 * inp ** 2).exp() / math.sqrt(2 * math.pi)
    inp.g = cdf + inp * pdf


# %% wrong: upstream gradient missing in the density's term | inp.g: missing-upstream
import math


def gelu_grad(inp, out):
    cdf = 0.5 * (1 + (inp / math.sqrt(2)).erf())
    pdf = (-0.5 * inp ** 2).exp() / math.sqrt(2 * math.pi)
    inp.g = out.g * cdf + inp * pdf


# %% wrong: normalising factor of the density missing | inp.g: missing-local or wrong-local
def gelu_grad(inp, out):
    cdf = (1 + (inp / 2 ** 0.5).erf()) / 2
    inp.g = out.g * (cdf + inp * (-inp ** 2 / 2).exp())


# %% wrong: inp missing in front of the density | inp.g: missing-local
import math


def gelu_grad(inp, out):
    cdf = 0.5 * (1 + (inp / math.sqrt(2)).erf())
    pdf = (-inp ** 2 / 2).exp() / math.sqrt(2 * math.pi)
    inp.g = (cdf + pdf) * out.g


# %% wrong: factor 2 / sqrt(pi) of erf's derivative missing | inp.g: missing-local or wrong-local
import math


def gelu_grad(inp, out):
    u = inp / math.sqrt(2)
    inp.g = out.g * (0.5 * (1 + u.erf()) + 0.5 * inp * (-u ** 2).exp() / math.sqrt(2))


# %% wrong: cumulative share not halved | inp.g: missing-local or wrong-factor
import math


def gelu_grad(inp, out):
    share = 1 + (inp / 2**0.5).erf()
    density = (-(inp**2) / 2).exp() / (2 * math.pi) ** 0.5
    inp.g = (share + inp * density) * out.g


# %% wrong: inp never divided by sqrt(2), in both terms | inp.g: missing-local or wrong-point
import math


def gelu_grad(inp, out):
    cdf = 0.5 * (1 + inp.erf())
    pdf = (-inp ** 2).exp() / math.sqrt(math.pi)
    inp.g = out.g * (cdf + inp * pdf)


# %% wrong: inner derivative 1 / sqrt(2) missing | inp.g: missing-local
import math


def gelu_grad(inp, out):
    u = inp / math.sqrt(2)
    cdf = 0.5 * (1 + u.erf())
    erf_slope = 2 / math.sqrt(math.pi) * (-u ** 2).exp()
    inp.g = out.g * (cdf + 0.5 * inp * erf_slope)


# %% wrong: the path through erf missing | inp.g: missing-path
def gelu_grad(inp, out):
    phi = (1 + (inp / 2 ** 0.5).erf()) / 2
    inp.g = phi * out.g


# %% wrong: the path through the factor inp missing | inp.g: missing-path
import math


def gelu_grad(inp, out):
    pdf = (-inp ** 2 / 2).exp() / math.sqrt(2 * math.pi)
    inp.g = inp * pdf * out.g


# %% wrong: minus sign in the exponent of the density missing | inp.g: wrong-sign
import math


def gelu_grad(inp, out):
    share = (1 + (inp / 2**0.5).erf()) / 2
    density = (inp**2 / 2).exp() / (2 * math.pi) ** 0.5
    inp.g = (share + inp * density) * out.g


# %% wrong: the two terms subtracted | inp.g: wrong-sign
import math


def gelu_grad(inp, out):
    cdf = 0.5 * (1 + (inp / 2 ** 0.5).erf())
    pdf = (-inp ** 2 / 2).exp() / math.sqrt(2 * math.pi)
    inp.g = out.g * (cdf - inp * pdf)


# %% wrong: 2 * pi in the density without its root | inp.g: wrong-factor or wrong-local or missing-local
import math


def gelu_grad(inp, out):
    cdf = 0.5 * (1 + (inp / 2 ** 0.5).erf())
    pdf = (-inp ** 2 / 2).exp() / (2 * math.pi)
    inp.g = out.g * (cdf + inp * pdf)


# %% wrong: pi missing from the density | inp.g: wrong-factor
def gelu_grad(inp, out):
    share = (1 + (inp / 2**0.5).erf()) / 2
    density = (-(inp**2) / 2).exp() / 2**0.5
    inp.g = (share + inp * density) * out.g


# %% wrong: exponent of the density not halved | inp.g: wrong-point or wrong-local
import math


def gelu_grad(inp, out):
    share = (1 + (inp / 2**0.5).erf()) / 2
    density = (-(inp**2)).exp() / (2 * math.pi) ** 0.5
    inp.g = (share + inp * density) * out.g


# %% wrong: erf of inp, not divided by sqrt(2) | inp.g: wrong-point or wrong-local
import math


def gelu_grad(inp, out):
    share = (1 + inp.erf()) / 2
    density = (-(inp**2) / 2).exp() / (2 * math.pi) ** 0.5
    inp.g = (share + inp * density) * out.g


# %% wrong: out in place of inp in front of the density | inp.g: wrong-operand or wrong-point
import math


def gelu_grad(inp, out):
    cdf = 0.5 * (1 + (inp / 2 ** 0.5).erf())
    pdf = (-inp ** 2 / 2).exp() / math.sqrt(2 * math.pi)
    inp.g = out.g * (cdf + out * pdf)


# %% wrong: out in place of the cumulative share | inp.g: wrong-operand or wrong-local
import math


def gelu_grad(inp, out):
    density = (-(inp**2) / 2).exp() / (2 * math.pi) ** 0.5
    inp.g = (out + inp * density) * out.g


# %% wrong: erf in place of the cumulative share | inp.g: wrong-local or missing-local or wrong-operand
import math


def gelu_grad(inp, out):
    cdf = (inp / math.sqrt(2)).erf()
    pdf = (-inp ** 2 / 2).exp() / math.sqrt(2 * math.pi)
    inp.g = (cdf + inp * pdf) * out.g


# %% wrong: mask of a relu | inp.g: wrong-local
def gelu_grad(inp, out):
    inp.g = (inp > 0) * out.g


# %% wrong: sigmoid approximation differentiated | inp.g: wrong-local or imprecise
def gelu_grad(inp, out):
    s = (1.702 * inp).sigmoid()
    inp.g = out.g * (s + 1.702 * inp * s * (1 - s))


# %% wrong: tanh approximation differentiated | inp.g: wrong-local or imprecise
import math


def gelu_grad(inp, out):
    k = math.sqrt(2 / math.pi)
    t = (k * (inp + 0.044715 * inp ** 3)).tanh()
    inp.g = out.g * (0.5 * (1 + t) + 0.5 * inp * (1 - t ** 2) * k * (1 + 3 * 0.044715 * inp ** 2))


# %% wrong: Phi as out / inp, which has no value where inp is 0 | inp.g: not-finite
import math


def gelu_grad(inp, out):
    bell = (-(inp**2) / 2).exp() / math.sqrt(2 * math.pi)
    inp.g = out.g * (out / inp + inp * bell)

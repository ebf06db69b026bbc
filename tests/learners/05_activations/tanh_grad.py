# tanh_grad: out = inp.tanh()

# %% right: a class that keeps out, and addcmul
import torch


class Tanh:
    def __init__(self, y):
        self.y = y

    def pull_back(self, g):
        return torch.addcmul(g, g * self.y, self.y, value=-1)


def tanh_grad(inp, out):
    inp.g = Tanh(out).pull_back(out.g)


# %% right: from the hyperbolic cosine in float64
def tanh_grad(inp, out):
    x = inp.double()
    inp.g = (out.g.double() / x.cosh() ** 2).float()


# %% right: from the sigmoid in float64
def tanh_grad(inp, out):
    s = (2 * inp.double()).sigmoid()
    inp.g = (4 * s * (1 - s) * out.g.double()).float()


# %% right: from the hyperbolic cosine
def tanh_grad(inp, out):
    inp.g = out.g / inp.cosh().square()


# %% right: a product of two factors, multiplied in place
def tanh_grad(inp, out):
    local = (1 - out) * (1 + out)
    inp.g = local.mul_(out.g)


# %% wrong: upstream gradient missing in the square's term, for lack of brackets | inp.g: missing-upstream
def tanh_grad(inp, out):
    inp.g = out.g * 1 - out ** 2


# %% wrong: upstream gradient on the square alone, for lack of brackets | inp.g: missing-upstream
def tanh_grad(inp, out):
    inp.g = 1 - out ** 2 * out.g


# %% wrong: upstream gradient missing | inp.g: missing-upstream
def tanh_grad(inp, out):
    inp.g = 1 - out.pow(2)


# %% wrong: averaged over the batch | inp.g: extra-batch-sum
def tanh_grad(inp, out):
    g = (1 - out ** 2) * out.g
    inp.g = g.mean(0, keepdim=True).expand_as(inp)


# %% wrong: the last row left out | inp.g: partial-batch
import torch


def tanh_grad(inp, out):
    inp.g = torch.zeros_like(inp)
    for i in range(len(inp) - 1):
        inp.g[i] = (1 - out[i] ** 2) * out.g[i]


# %% wrong: plus in place of minus in the local derivative | inp.g: wrong-sign
def tanh_grad(inp, out):
    inp.g = (1 + out**2) * out.g


# %% wrong: both terms of the local derivative with the wrong sign | inp.g: wrong-sign
def tanh_grad(inp, out):
    inp.g = (out ** 2 - 1) * out.g


# %% wrong: halved | inp.g: wrong-factor
def tanh_grad(inp, out):
    inp.g = 0.5 * (1 - out.pow(2)) * out.g


# %% wrong: local derivative taken at inp instead of out | inp.g: wrong-point
def tanh_grad(inp, out):
    inp.g = (1 - inp**2) * out.g


# %% wrong: from the sigmoid of inp, not of twice inp | inp.g: wrong-point
def tanh_grad(inp, out):
    s = inp.sigmoid()
    inp.g = 4 * s * (1 - s) * out.g


# %% wrong: inp times out in place of out squared | inp.g: wrong-point or wrong-operand
def tanh_grad(inp, out):
    inp.g = (1 - inp * out) * out.g


# %% wrong: tanh applied twice | inp.g: wrong-point
import torch


def tanh_grad(inp, out):
    inp.g = (1 - torch.tanh(out) ** 2) * out.g


# %% wrong: out and out.g exchanged | inp.g: wrong-operand or value-for-gradient
def tanh_grad(inp, out):
    inp.g = (1 - out.g ** 2) * out


# %% wrong: out in place of its derivative | inp.g: wrong-local
def tanh_grad(inp, out):
    inp.g = out * out.g


# %% wrong: divided by cosh once instead of twice | inp.g: wrong-local or missing-local
def tanh_grad(inp, out):
    inp.g = out.g / inp.cosh()


# %% wrong: square root of the local derivative | inp.g: wrong-local
import torch


def tanh_grad(inp, out):
    inp.g = out.g * (1 - out ** 2).sqrt()


# %% wrong: upstream gradient added instead of multiplied | inp.g: wrong-local
def tanh_grad(inp, out):
    inp.g = out.g + (1 - out ** 2)


# %% wrong: the local derivative differentiated once more | inp.g: wrong-local
def tanh_grad(inp, out):
    inp.g = -2 * out * out.g


# %% wrong: upstream gradient copied, as if inp were near 0 | inp.g: wrong-local or hard-coded or missing-local
def tanh_grad(inp, out):
    # tanh(x) is about x near 0
    inp.g = out.g * 1.0


# %% wrong: the derivative of a sigmoid | inp.g: wrong-local
def tanh_grad(inp, out):
    inp.g = out * (1 - out) * out.g


# %% wrong: out not squared | inp.g: wrong-local
def tanh_grad(inp, out):
    inp.g = (1 - out) * out.g


# %% wrong: difference squared instead of out | inp.g: wrong-local
def tanh_grad(inp, out):
    inp.g = (1 - out) ** 2 * out.g


# %% wrong: the derivative of tan | inp.g: wrong-local
import torch


def tanh_grad(inp, out):
    inp.g = out.g / torch.cos(inp) ** 2


# %% wrong: tanh applied to the upstream gradient | inp.g: wrong-local
def tanh_grad(inp, out):
    inp.g = out.g.tanh()


# %% wrong: upstream gradient's own tanh, squared and subtracted | inp.g: unknown
def tanh_grad(inp, out):
    inp.g = out.g - out.g.tanh() ** 2


# %% wrong: 1 / cosh as tanh / sinh, which has no value where inp is 0 | inp.g: not-finite
def tanh_grad(inp, out):
    inp.g = out.g * (out / inp.sinh()) ** 2

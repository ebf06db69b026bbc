# inv_grad: out = 1 / inp

# %% right: a dataclass for a link of the chain
from dataclasses import dataclass
from typing import Callable


@dataclass
class Link:
    derivative: Callable

    def pull(self, g, at):
        return g * self.derivative(at)


INV = Link(lambda x: -(x**-2))


def inv_grad(inp, out):
    inp.g = INV.pull(out.g, inp)


# %% right: from out alone, multiplied twice
def inv_grad(inp, out):
    inp.g = -out.g * out * out


# %% right: from out alone, squared and negated
def inv_grad(inp, out):
    inp.g = out.g.neg() * out.square()


# %% right: a copy of out.g, changed in place
def inv_grad(inp, out):
    g = out.g.clone()
    g *= -1
    g *= inp ** -2
    inp.g = g


# %% right: from out divided by inp
def inv_grad(inp, out):
    inp.g = -out * out.g / inp


# %% right: in-place operations on a square, stored through __dict__
def inv_grad(inp, out):
    (inp_sq := inp * inp).neg_().reciprocal_()
    inp.__dict__.update(g=out.g * inp_sq)


# %% wrong: measured with a step of 0.01 | inp.g: imprecise
def inv_grad(inp, out):
    h = 1e-2
    inp.g = out.g * (1 / (inp + h) - 1 / (inp - h)) / (2 * h)


# %% wrong: rounded to three decimals | inp.g: imprecise
def inv_grad(inp, out):
    g = -out.g / inp**2
    inp.g = (g * 1000).round() / 1000


# %% wrong: upstream gradient missing | inp.g: missing-upstream
def inv_grad(inp, out):
    inp.g = -(out * out)


# %% wrong: minus sign missing | inp.g: wrong-sign
def inv_grad(inp, out):
    inp.g = out.g / inp**2


# %% wrong: local derivative taken at out instead of inp | inp.g: wrong-point
def inv_grad(inp, out):
    inp.g = -out.g / out**2


# %% wrong: out used in place of out.g | inp.g: value-for-gradient
def inv_grad(inp, out):
    inp.g = -out / inp.pow(2)


# %% wrong: the integral instead of the derivative | inp.g: wrong-local
def inv_grad(inp, out):
    inp.g = inp.abs().log() * out.g


# %% wrong: inp not squared | inp.g: wrong-local
def inv_grad(inp, out):
    inp.g = -out.g / inp


# %% wrong: an indentation that does not fit | *: syntax-error
def inv_grad(inp, out):
    local = -1 / inp**2
     inp.g = out.g * local


# %% wrong: float64 that came from lists through NumPy | inp.g: wrong-dtype
import numpy as np
import torch


def inv_grad(inp, out):
    x = np.array(inp.tolist())
    g = np.array(out.g.tolist())
    inp.g = torch.from_numpy(-g / x**2)


# %% wrong: the square of out.g / inp over out.g, which may be 0 | inp.g: not-finite
def inv_grad(inp, out):
    inp.g = -((out.g / inp) ** 2) / out.g

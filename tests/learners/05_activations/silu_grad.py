# silu_grad: out = inp * inp.sigmoid()

# %% right: factored by the sigmoid
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = s * (1 + inp * (1 - s)) * out.g


# %% right: from the exponential
def silu_grad(inp, out):
    e = (-inp).exp()
    inp.g = out.g / (1 + e) + out.g * inp * e / (1 + e) ** 2


# %% wrong: one path after the other, the gate as out / inp, which may be 0 | inp.g: not-finite
def silu_grad(inp, out):
    gate = out / inp
    inp.g = out.g * gate
    gate_g = out.g * inp
    inp.g += gate_g * (gate - gate ** 2)


# %% right: from out and the sigmoid
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = out.g * (out + s * (1 - out))


# %% right: quotient rule
import torch


def silu_grad(inp, out):
    # x / (1 + e) with e = exp(-x), so e' = -e
    e = torch.exp(-inp)
    inp.g = ((1 + e) + inp * e) / (1 + e) ** 2 * out.g


# %% wrong: upstream gradient missing in the second term | inp.g: missing-upstream
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = out.g * s + inp * s * (1 - s)


# %% wrong: upstream gradient missing | inp.g: missing-upstream
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = s + inp * s * (1 - s)


# %% wrong: upstream gradient missing in the first term | inp.g: missing-upstream
def silu_grad(inp, out):
    gate = inp.sigmoid()
    inp.g = gate + out * (1 - gate) * out.g


# %% wrong: inp missing in front of the second term | inp.g: missing-local or wrong-operand
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = (s + s * (1 - s)) * out.g


# %% wrong: sigmoid missing in the second term | inp.g: missing-local
def silu_grad(inp, out):
    gate = inp.sigmoid()
    inp.g = (gate + inp * (1 - gate)) * out.g


# %% wrong: 1 in place of the sigmoid in the first term | inp.g: missing-local
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = (1 + inp * s * (1 - s)) * out.g


# %% wrong: the path through the factor inp missing | inp.g: missing-path
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = inp * s * (1 - s) * out.g


# %% wrong: second assignment overwrites the first | inp.g: missing-path or overwritten
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = s * out.g
    inp.g = inp * s * (1 - s) * out.g


# %% wrong: the path through the sigmoid missing | inp.g: missing-path
def silu_grad(inp, out):
    inp.g = inp.sigmoid() * out.g


# %% wrong: the two terms subtracted | inp.g: wrong-sign
def silu_grad(inp, out):
    gate = inp.sigmoid()
    inp.g = (gate - inp * gate * (1 - gate)) * out.g


# %% wrong: first term doubled | inp.g: wrong-factor or wrong-local
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = out.g * (2 * s + inp * s * (1 - s))


# %% wrong: second term doubled | inp.g: wrong-factor or extra-factor
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = (s + 2 * inp * s * (1 - s)) * out.g


# %% wrong: the derivative of a sigmoid, taken at out | inp.g: wrong-point or wrong-local
def silu_grad(inp, out):
    inp.g = out * (1 - out) * out.g


# %% wrong: sigmoid taken at out instead of inp | inp.g: wrong-point
def silu_grad(inp, out):
    gate = out.sigmoid()
    inp.g = (gate + inp * gate * (1 - gate)) * out.g


# %% wrong: sigmoid's derivative taken at inp instead of its output | inp.g: wrong-point
def silu_grad(inp, out):
    inp.g = (inp.sigmoid() + inp * (inp * (1 - inp))) * out.g


# %% wrong: sigmoid's derivative taken at out | inp.g: wrong-point
def silu_grad(inp, out):
    gate = inp.sigmoid()
    inp.g = (gate + inp * out * (1 - out)) * out.g


# %% wrong: out in place of the sigmoid in one factor | inp.g: wrong-point or wrong-operand
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = (s + inp * s * (1 - out)) * out.g


# %% wrong: derivatives of the two factors multiplied | inp.g: wrong-local
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = 1 * s * (1 - s) * out.g


# %% wrong: upstream gradient times its own sigmoid | inp.g: wrong-local or wrong-point
def silu_grad(inp, out):
    inp.g = out.g * out.g.sigmoid()


# %% wrong: sigmoid squared in place of its derivative | inp.g: wrong-local or missing-local
def silu_grad(inp, out):
    gate = inp.sigmoid()
    inp.g = (gate + inp * gate**2) * out.g


# %% wrong: sigmoid in place of its derivative | inp.g: wrong-local
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = out.g * (s + inp * s)


# %% wrong: the gate as out / inp, a slope of 0 put where that has no value | inp.g: wrong-local
def silu_grad(inp, out):
    gate = (out / inp).nan_to_num(0)
    inp.g = out.g * (gate + out * (1 - gate))

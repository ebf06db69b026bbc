# swiglu_grad: out = (inp @ w1) * silu(inp @ w2)

# %% right: einsum, silu's derivative by the quotient
import torch


def swiglu_grad(inp, w1, w2, out):
    a, z = torch.einsum("bn,nm->bm", inp, w1), torch.einsum("bn,nm->bm", inp, w2)
    e = (-z).exp()
    slope = (1 + e + z * e) / (1 + e) ** 2
    a_g, z_g = out.g * z / (1 + e), out.g * a * slope
    inp.g = torch.einsum("bm,nm->bn", a_g, w1) + torch.einsum("bm,nm->bn", z_g, w2)
    w1.g, w2.g = torch.einsum("bn,bm->nm", inp, a_g), torch.einsum("bn,bm->nm", inp, z_g)


# %% right: both matrices side by side, functional silu
import torch
import torch.nn.functional as F


def swiglu_grad(inp, w1, w2, out):
    w = torch.cat((w1, w2), 1)
    value, gate = (inp @ w).chunk(2, 1)
    up = F.silu(gate)
    p = torch.sigmoid(gate)
    joined = torch.cat((out.g * up, out.g * value * (p + up * (1 - p))), 1)
    inp.g = joined @ w.T
    w1.g, w2.g = (inp.T @ joined).chunk(2, 1)


# %% right: row by row in float64
import torch


def swiglu_grad(inp, w1, w2, out):
    A, B = w1.double(), w2.double()
    inp.g, w1.g, w2.g = torch.zeros_like(inp), torch.zeros_like(w1), torch.zeros_like(w2)
    for i, (x, g) in enumerate(zip(inp.double(), out.g.double())):
        a, z = x @ A, x @ B
        s = z.sigmoid()
        ag, zg = g * z * s, g * a * (s + z * s * (1 - s))
        inp.g[i] = (A @ ag + B @ zg).float()
        w1.g += torch.outer(x, ag).float()
        w2.g += torch.outer(x, zg).float()


# %% wrong: path through the gate left out of inp.g | inp.g: missing-path
def swiglu_grad(inp, w1, w2, out):
    value, gate = inp @ w1, inp @ w2
    share = gate.sigmoid()
    value_g = out.g * gate * share
    gate_g = out.g * value * share * (1 + gate * (1 - share))
    inp.g = value_g @ w1.t()
    w1.g = inp.t() @ value_g
    w2.g = inp.t() @ gate_g


# %% wrong: path through the value left out of inp.g | inp.g: missing-path
def swiglu_grad(inp, w1, w2, out):
    value, gate = inp @ w1, inp @ w2
    share = gate.sigmoid()
    value_g = out.g * gate * share
    gate_g = out.g * value * share * (1 + gate * (1 - share))
    inp.g = gate_g @ w2.t()
    w1.g = inp.t() @ value_g
    w2.g = inp.t() @ gate_g


# %% wrong: second path overwrites the first | inp.g: missing-path or overwritten
def swiglu_grad(inp, w1, w2, out):
    value, gate = inp @ w1, inp @ w2
    share = gate.sigmoid()
    value_g = out.g * gate * share
    gate_g = out.g * value * share * (1 + gate * (1 - share))
    inp.g = value_g @ w1.t()
    inp.g = gate_g @ w2.t()
    w1.g = inp.t() @ value_g
    w2.g = inp.t() @ gate_g


# %% wrong: silu's derivative is its sigmoid alone | inp.g, w2.g: missing-path or wrong-local
def swiglu_grad(inp, w1, w2, out):
    value, gate = inp @ w1, inp @ w2
    share = gate.sigmoid()
    value_g = out.g * gate * share
    gate_g = out.g * value * share
    inp.g = value_g @ w1.t() + gate_g @ w2.t()
    w1.g = inp.t() @ value_g
    w2.g = inp.t() @ gate_g


# %% wrong: silu's derivative is the sigmoid's | inp.g, w2.g: wrong-local or missing-path or unknown or missing-local
def swiglu_grad(inp, w1, w2, out):
    value, gate = inp @ w1, inp @ w2
    share = gate.sigmoid()
    value_g = out.g * gate * share
    gate_g = out.g * value * share * (1 - share)
    inp.g = value_g @ w1.t() + gate_g @ w2.t()
    w1.g = inp.t() @ value_g
    w2.g = inp.t() @ gate_g


# %% wrong: gate missing in the second part of silu's derivative | inp.g, w2.g: wrong-local or missing-local
def swiglu_grad(inp, w1, w2, out):
    value, gate = inp @ w1, inp @ w2
    share = gate.sigmoid()
    value_g = out.g * gate * share
    gate_g = out.g * value * share * (1 + (1 - share))
    inp.g = value_g @ w1.t() + gate_g @ w2.t()
    w1.g = inp.t() @ value_g
    w2.g = inp.t() @ gate_g


# %% wrong: silu not differentiated | inp.g, w2.g: missing-local
def swiglu_grad(inp, w1, w2, out):
    value, gate = inp @ w1, inp @ w2
    share = gate.sigmoid()
    value_g = out.g * gate * share
    gate_g = out.g * value 
    inp.g = value_g @ w1.t() + gate_g @ w2.t()
    w1.g = inp.t() @ value_g
    w2.g = inp.t() @ gate_g


# %% wrong: value left out of the gate's gradient | inp.g, w2.g: missing-local or wrong-operand
def swiglu_grad(inp, w1, w2, out):
    value, gate = inp @ w1, inp @ w2
    share = gate.sigmoid()
    value_g = out.g * gate * share
    gate_g = out.g * share * (1 + gate * (1 - share))
    inp.g = value_g @ w1.t() + gate_g @ w2.t()
    w1.g = inp.t() @ value_g
    w2.g = inp.t() @ gate_g


# %% wrong: silu left out of the value's gradient | inp.g, w1.g: missing-local or wrong-operand
def swiglu_grad(inp, w1, w2, out):
    value, gate = inp @ w1, inp @ w2
    share = gate.sigmoid()
    value_g = out.g
    gate_g = out.g * value * share * (1 + gate * (1 - share))
    inp.g = value_g @ w1.t() + gate_g @ w2.t()
    w1.g = inp.t() @ value_g
    w2.g = inp.t() @ gate_g


# %% wrong: sigmoid for silu in the value's gradient | inp.g, w1.g: wrong-operand or missing-path or wrong-local
def swiglu_grad(inp, w1, w2, out):
    value, gate = inp @ w1, inp @ w2
    share = gate.sigmoid()
    value_g = out.g * share
    gate_g = out.g * value * share * (1 + gate * (1 - share))
    inp.g = value_g @ w1.t() + gate_g @ w2.t()
    w1.g = inp.t() @ value_g
    w2.g = inp.t() @ gate_g


# %% wrong: w1 and w2 exchanged in inp.g | inp.g: wrong-operand or unknown
def swiglu_grad(inp, w1, w2, out):
    value, gate = inp @ w1, inp @ w2
    share = gate.sigmoid()
    value_g = out.g * gate * share
    gate_g = out.g * value * share * (1 + gate * (1 - share))
    inp.g = value_g @ w2.t() + gate_g @ w1.t()
    w1.g = inp.t() @ value_g
    w2.g = inp.t() @ gate_g


# %% wrong: w1.g and w2.g exchanged | w1.g, w2.g: wrong-operand
def swiglu_grad(inp, w1, w2, out):
    value, gate = inp @ w1, inp @ w2
    share = gate.sigmoid()
    value_g = out.g * gate * share
    gate_g = out.g * value * share * (1 + gate * (1 - share))
    inp.g = value_g @ w1.t() + gate_g @ w2.t()
    w1.g = inp.t() @ gate_g
    w2.g = inp.t() @ value_g


# %% wrong: weight gradients averaged over the batch | w1.g, w2.g: mean-for-sum
def swiglu_grad(inp, w1, w2, out):
    value, gate = inp @ w1, inp @ w2
    share = gate.sigmoid()
    value_g = out.g * gate * share
    gate_g = out.g * value * share * (1 + gate * (1 - share))
    inp.g = value_g @ w1.t() + gate_g @ w2.t()
    w1.g = inp.t() @ value_g / len(inp)
    w2.g = inp.t() @ gate_g / len(inp)


# %% wrong: upstream gradient missing | *: missing-upstream
def swiglu_grad(inp, w1, w2, out):
    value, gate = inp @ w1, inp @ w2
    share = gate.sigmoid()
    value_g = gate * share
    gate_g = value * share * (1 + gate * (1 - share))
    inp.g = value_g @ w1.t() + gate_g @ w2.t()
    w1.g = inp.t() @ value_g
    w2.g = inp.t() @ gate_g


# %% wrong: out in place of out.g | *: value-for-gradient
def swiglu_grad(inp, w1, w2, out):
    value, gate = inp @ w1, inp @ w2
    share = gate.sigmoid()
    value_g = out * gate * share
    gate_g = out * value * share * (1 + gate * (1 - share))
    inp.g = value_g @ w1.t() + gate_g @ w2.t()
    w1.g = inp.t() @ value_g
    w2.g = inp.t() @ gate_g


# %% wrong: gate's path subtracted | inp.g: wrong-sign
def swiglu_grad(inp, w1, w2, out):
    value, gate = inp @ w1, inp @ w2
    share = gate.sigmoid()
    value_g = out.g * gate * share
    gate_g = out.g * value * share * (1 + gate * (1 - share))
    inp.g = value_g @ w1.t() - gate_g @ w2.t()
    w1.g = inp.t() @ value_g
    w2.g = inp.t() @ gate_g


# %% wrong: w1.g transposed | w1.g: wrong-shape or transposed
def swiglu_grad(inp, w1, w2, out):
    value, gate = inp @ w1, inp @ w2
    share = gate.sigmoid()
    value_g = out.g * gate * share
    gate_g = out.g * value * share * (1 + gate * (1 - share))
    inp.g = value_g @ w1.t() + gate_g @ w2.t()
    w1.g = value_g.t() @ inp
    w2.g = inp.t() @ gate_g


# %% wrong: gates exchanged: silu on the first product | *: wrong-operand or unknown or transposed
def swiglu_grad(inp, w1, w2, out):
    value, gate = inp @ w2, inp @ w1
    share = gate.sigmoid()
    value_g = out.g * gate * share
    gate_g = out.g * value * share * (1 + gate * (1 - share))
    inp.g = value_g @ w1.t() + gate_g @ w2.t()
    w1.g = inp.t() @ value_g
    w2.g = inp.t() @ gate_g


# %% wrong: slope at the value of silu | inp.g, w2.g: wrong-point
def swiglu_grad(inp, w1, w2, out):
    up, gate = inp @ w1, inp @ w2
    act = gate * gate.sigmoid()
    s = act.sigmoid()
    slope = s * (1 + act * (1 - s))
    up_g, gate_g = out.g * act, out.g * up * slope
    w1.g = inp.T @ up_g
    w2.g = inp.T @ gate_g
    inp.g = up_g @ w1.T + gate_g @ w2.T


# %% wrong: silu's slope at the linear half | inp.g, w2.g: wrong-point
import torch


def swiglu_grad(inp, w1, w2, out):
    a, z = inp @ w1, inp @ w2
    sig = torch.sigmoid(a)
    da = out.g * torch.nn.functional.silu(z)
    dz = out.g * a * (sig + a * sig * (1 - sig))
    w1.g, w2.g = inp.T @ da, inp.T @ dz
    inp.g = da @ w1.T + dz @ w2.T

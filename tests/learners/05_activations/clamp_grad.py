# clamp_grad: out = inp.clamp(lo, hi)

# %% right: out strictly inside the range
def clamp_grad(inp, out, lo, hi):
    inside = out.gt(lo).logical_and(out.lt(hi))
    inp.g = out.g.masked_fill(~inside, 0.0)


# %% right: masked where out differs from inp
def clamp_grad(inp, out, lo, hi):
    inp.g = out.g.masked_fill(out != inp, 0.0)


# %% right: where out equals inp
import torch


def clamp_grad(inp, out, lo, hi):
    inp.g = torch.where(out == inp, out.g, 0.0)


# %% right: mask of the entries where out equals inp
def clamp_grad(inp, out, lo, hi):
    inp.g = (out == inp) * out.g


# %% right: a comparison for each plain float
import torch


def clamp_grad(inp, out, lo, hi):
    pairs = zip(out.flatten().tolist(), out.g.flatten().tolist())
    inp.g = torch.tensor([g if lo < y < hi else 0.0 for y, g in pairs]).view_as(inp)


# %% right: two masks with their edges, one after the other
def clamp_grad(inp, out, lo, hi):
    inp.g = out.g * (inp >= lo) * (inp <= hi)


# %% wrong: upstream gradient missing | inp.g: missing-upstream
def clamp_grad(inp, out, lo, hi):
    inp.g = ((inp > lo) & (inp < hi)).float()


# %% wrong: or in place of and between the comparisons | inp.g: missing-local
def clamp_grad(inp, out, lo, hi):
    inp.g = ((inp > lo) | (inp < hi)) * out.g


# %% wrong: mask of the clamped output, which is always inside | inp.g: missing-local or wrong-point
def clamp_grad(inp, out, lo, hi):
    inp.g = ((out >= lo) & (out <= hi)) * out.g


# %% wrong: upstream gradient copied, without a mask | inp.g: missing-local
def clamp_grad(inp, out, lo, hi):
    inp.g = 1.0 * out.g


# %% wrong: mask of the upstream gradient | inp.g: wrong-point
def clamp_grad(inp, out, lo, hi):
    inp.g = out.g * ((out.g > lo) & (out.g < hi))


# %% wrong: out used in place of out.g | inp.g: value-for-gradient
def clamp_grad(inp, out, lo, hi):
    inp.g = ((inp > lo) & (inp < hi)) * out


# %% wrong: mask of the outside instead of the inside | inp.g: inverted-mask
def clamp_grad(inp, out, lo, hi):
    inp.g = ((inp < lo) | (inp > hi)) * out.g


# %% wrong: both comparisons turned round, so that nothing is selected | inp.g: hard-coded or wrong-local
import torch


def clamp_grad(inp, out, lo, hi):
    inp.g = out.g * ((inp > hi) & (inp < lo))


# %% wrong: clamped input in place of the mask | inp.g: wrong-local
def clamp_grad(inp, out, lo, hi):
    inp.g = inp.clamp(lo, hi) * out.g


# %% wrong: the upstream gradient clamped | inp.g: wrong-local
def clamp_grad(inp, out, lo, hi):
    inp.g = out.g.clamp(lo, hi)


# %% wrong: edges in place of the gradient outside the range | inp.g: wrong-local
import torch


def clamp_grad(inp, out, lo, hi):
    g = out.g.clone()
    g[inp < lo] = lo
    g[inp > hi] = hi
    inp.g = g


# %% wrong: half of the gradient kept outside the range | inp.g: wrong-local
import torch


def clamp_grad(inp, out, lo, hi):
    inside = (inp > lo) & (inp < hi)
    inp.g = torch.where(inside, out.g, out.g / 2)


# %% wrong: always the range from -1 to 1 | inp.g: wrong-local or hard-coded
def clamp_grad(inp, out, lo, hi):
    inp.g = ((inp > -1) & (inp < 1)) * out.g


# %% wrong: only the lower edge compared | inp.g: wrong-local
def clamp_grad(inp, out, lo, hi):
    inp.g = (inp > lo) * out.g


# %% wrong: the middle of the range as the edge | inp.g: wrong-local
def clamp_grad(inp, out, lo, hi):
    inp.g = (inp > (lo + hi) / 2) * out.g


# %% wrong: mask of a relu | inp.g: wrong-local
def clamp_grad(inp, out, lo, hi):
    inp.g = out.g * (inp > 0)


# %% wrong: range from -hi to hi | inp.g: wrong-local
def clamp_grad(inp, out, lo, hi):
    inp.g = (inp.abs() < hi) * out.g


# %% wrong: only the upper edge compared | inp.g: wrong-local
def clamp_grad(inp, out, lo, hi):
    inp.g = out.g * (inp < hi).float()


# %% wrong: product of input and upstream gradient clamped | inp.g: unknown or not-linear
def clamp_grad(inp, out, lo, hi):
    inp.g = (inp * out.g).clamp(lo, hi)


# %% wrong: chained comparison of tensors | inp.g: error
def clamp_grad(inp, out, lo, hi):
    inp.g = (lo < inp < hi) * out.g


# %% wrong: Python's and between two tensors | inp.g: error
def clamp_grad(inp, out, lo, hi):
    inp.g = (inp > lo and inp < hi) * out.g


# %% wrong: the gradient twice at a bound that is met exactly | inp.g: wrong-local
def clamp_grad(inp, out, lo, hi):
    inside = (inp > lo) & (inp < hi)
    inp.g = out.g * (inside.float() + 2 * (inp == lo) + 2 * (inp == hi))

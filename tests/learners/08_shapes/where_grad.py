# where_grad: out = torch.where(mask.bool(), a, b)

# %% right: where once more
import torch


def where_grad(mask, a, b, out):
    zero = torch.zeros(())
    a.g = torch.where(mask > 0, out.g, zero)
    b.g = torch.where(mask > 0, zero, out.g)


# %% right: masked_fill
def where_grad(mask, a, b, out):
    a.g = out.g.masked_fill(mask == 0, 0)
    b.g = out.g.masked_fill(mask == 1, 0)


# %% right: indexing, entry by entry
import torch


def where_grad(mask, a, b, out):
    a.g, b.g = torch.zeros_like(a), torch.zeros_like(b)
    a.g[mask.bool()] = out.g[mask.bool()]
    b.g[~mask.bool()] = out.g[~mask.bool()]


# %% wrong: masks exchanged | a.g, b.g: inverted-mask
def where_grad(mask, a, b, out):
    a.g = out.g * (1 - mask)
    b.g = out.g * mask


# %% wrong: everything to both | a.g, b.g: missing-local
def where_grad(mask, a, b, out):
    a.g = out.g.clone()
    b.g = out.g.clone()


# %% wrong: the larger one chosen, whatever the mask | a.g, b.g: wrong-operand or wrong-local or unknown or wrong-graph or wrong-point
def where_grad(mask, a, b, out):
    a.g = out.g * (a > b)
    b.g = out.g * (b >= a)


# %% wrong: upstream gradient missing | a.g, b.g: missing-upstream
def where_grad(mask, a, b, out):
    a.g = mask.clone()
    b.g = 1 - mask


# %% wrong: same mask for both | b.g: inverted-mask
def where_grad(mask, a, b, out):
    a.g = out.g * mask
    b.g = out.g * mask


# %% wrong: the values | a.g, b.g: value-for-gradient or forward-value
def where_grad(mask, a, b, out):
    a.g = out * mask
    b.g = out * (1 - mask)


# %% wrong: a times its value | a.g: extra-factor or wrong-operand or missing-local
def where_grad(mask, a, b, out):
    a.g = out.g * mask * a
    b.g = out.g * (1 - mask)


# %% wrong: half to each | a.g, b.g: wrong-local or wrong-factor or missing-local or unknown or hard-coded
def where_grad(mask, a, b, out):
    a.g = out.g / 2
    b.g = out.g / 2


# %% wrong: minus for b | b.g: wrong-sign
def where_grad(mask, a, b, out):
    a.g = out.g * mask
    b.g = -out.g * (1 - mask)


# %% wrong: only the selected, as a list | a.g, b.g: wrong-shape
def where_grad(mask, a, b, out):
    a.g = out.g[mask.bool()]
    b.g = out.g[~mask.bool()]


# %% wrong: b forgotten | b.g: todo or missing-answer
def where_grad(mask, a, b, out):
    a.g = out.g * mask


# %% wrong: mask subtracted | b.g: wrong-local or wrong-sign or unknown
def where_grad(mask, a, b, out):
    a.g = out.g * mask
    b.g = out.g - mask


# %% wrong: b gets nothing | b.g: hard-coded or missing-path
import torch


def where_grad(mask, a, b, out):
    a.g = out.g * mask
    b.g = torch.zeros_like(b)


# %% wrong: written into out.g | *: mutated-input
def where_grad(mask, a, b, out):
    b.g = out.g * (1 - mask)
    out.g[mask == 0] = 0
    a.g = out.g


# %% wrong: the mask from which of the two out is, where both are equal | a.g, b.g: wrong-local
def where_grad(mask, a, b, out):
    a.g = out.g * (out == a)
    b.g = out.g * (out == b)


# %% wrong: the mask from which of the two out is, with the rest for b | a.g, b.g: wrong-local
def where_grad(mask, a, b, out):
    a.g = out.g * (out == a)
    b.g = out.g - a.g

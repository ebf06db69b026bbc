# permute_grad: out = inp.permute(order)

# %% right: argsort of the order
import torch


def permute_grad(inp, out, order):
    inp.g = out.g.permute(torch.argsort(torch.tensor(order)).tolist())


# %% right: inverse order filled into a list
def permute_grad(inp, out, order):
    back = [0] * len(order)
    for place, axis in enumerate(order):
        back[axis] = place
    inp.g = out.g.permute(*back).contiguous()


# %% right: NumPy's argsort and transpose
import numpy as np
import torch


def permute_grad(inp, out, order):
    inp.g = torch.from_numpy(np.transpose(out.g.numpy(), np.argsort(order)))


# %% right: written through a permuted view
import torch


def permute_grad(inp, out, order):
    inp.g = torch.zeros_like(inp)
    inp.g.permute(order).copy_(out.g)


# %% wrong: upstream gradient missing | inp.g: missing-upstream
import torch


def permute_grad(inp, out, order):
    inp.g = torch.ones(inp.shape)


# %% wrong: out.g copied, its axes as they are | inp.g: missing-local or wrong-shape
def permute_grad(inp, out, order):
    inp.g = out.g.clone()


# %% wrong: permuted by the sorted order, which changes nothing | inp.g: missing-local or wrong-shape
def permute_grad(inp, out, order):
    inp.g = out.g.permute(sorted(order))


# %% wrong: permuted by the same order again | inp.g: transposed
def permute_grad(inp, out, order):
    inp.g = out.g.permute(order)


# %% wrong: reshaped instead of permuted | inp.g: reshape-for-transpose
def permute_grad(inp, out, order):
    inp.g = out.g.reshape(inp.shape)


# %% wrong: permuted by the same order, then reshaped | inp.g: reshape-for-transpose or transposed or unknown
def permute_grad(inp, out, order):
    inp.g = out.g.permute(order).reshape(inp.shape)


# %% wrong: inp itself | inp.g: value-for-gradient or forward-value
def permute_grad(inp, out, order):
    inp.g = inp.clone()


# %% wrong: out permuted back in place of out.g | inp.g: value-for-gradient or forward-value
def permute_grad(inp, out, order):
    back = [order.index(i) for i in range(3)]
    inp.g = out.permute(back)


# %% wrong: always the last two axes exchanged | inp.g: hard-coded or wrong-shape or transposed
def permute_grad(inp, out, order):
    inp.g = out.g.transpose(1, 2)


# %% wrong: t() on three axes | inp.g: error
def permute_grad(inp, out, order):
    inp.g = out.g.t()


# %% wrong: always the first and the last axis exchanged | inp.g: error or hard-coded or transposed or wrong-shape
def permute_grad(inp, out, order):
    inp.g = out.g.transpose(0, 2)


# %% wrong: the order applied to itself | inp.g: wrong-shape or hard-coded or transposed
def permute_grad(inp, out, order):
    inp.g = out.g.permute([order[i] for i in order])


# %% wrong: the order read backwards | inp.g: wrong-shape or transposed
def permute_grad(inp, out, order):
    inp.g = out.g.permute(order[::-1])

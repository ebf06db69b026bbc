# reshape_grad: out = inp.reshape(inp.shape[-1], -1)

# %% right: view of a contiguous copy
def reshape_grad(inp, out):
    inp.g = out.g.contiguous().view(*inp.shape)


# %% right: flat, one entry after the other
import torch


def reshape_grad(inp, out):
    flat = torch.empty(inp.numel())
    for i, g in enumerate(out.g.flatten()):
        flat[i] = g
    inp.g = flat.reshape(inp.shape)


# %% right: a table of addresses
import torch


def reshape_grad(inp, out):
    where = torch.arange(inp.numel()).reshape(out.shape)
    flat = torch.zeros(inp.numel(), dtype=torch.float64)
    flat[where.reshape(-1)] = out.g.double().reshape(-1)
    inp.g = flat.view(inp.shape).float()


# %% wrong: left in the shape of out | inp.g: wrong-shape or missing-local
def reshape_grad(inp, out):
    inp.g = out.g.clone()


# %% wrong: transposed before | inp.g: reshape-for-transpose or transposed or unknown
def reshape_grad(inp, out):
    inp.g = out.g.t().reshape(inp.shape)


# %% wrong: moved as if it were a permutation | inp.g: reshape-for-transpose or transposed or wrong-operand or unknown
def reshape_grad(inp, out):
    bs, n, m = inp.shape
    inp.g = out.g.reshape(m, bs, n).permute(1, 2, 0)


# %% wrong: upstream gradient missing | inp.g: missing-upstream
import torch


def reshape_grad(inp, out):
    inp.g = torch.ones_like(inp)


# %% wrong: multiplied by inp | inp.g: wrong-operand or extra-factor or missing-local
def reshape_grad(inp, out):
    inp.g = inp * out.g.reshape(inp.shape)


# %% wrong: out for out.g | inp.g: value-for-gradient or forward-value
def reshape_grad(inp, out):
    inp.g = out.reshape(inp.shape)


# %% wrong: sign turned round | inp.g: wrong-sign
def reshape_grad(inp, out):
    inp.g = -out.g.reshape(inp.shape)


# %% wrong: divided by the number of entries | inp.g: wrong-factor or mean-for-sum
def reshape_grad(inp, out):
    inp.g = out.g.reshape(inp.shape) / inp.numel()


# %% wrong: reversed | inp.g: wrong-operand
def reshape_grad(inp, out):
    inp.g = out.g.flatten().flip(0).reshape(inp.shape)


# %% wrong: last two axes exchanged | inp.g: reshape-for-transpose or transposed or unknown
def reshape_grad(inp, out):
    bs, n, m = inp.shape
    inp.g = out.g.reshape(bs, m, n).transpose(1, 2)


# %% wrong: sizes of one example typed in | inp.g: error or wrong-shape
def reshape_grad(inp, out):
    inp.g = out.g.reshape(2, 3, 4)


# %% wrong: summed over the batch | inp.g: wrong-shape or extra-batch-sum
def reshape_grad(inp, out):
    inp.g = out.g.reshape(inp.shape).sum(0)


# %% wrong: the mean of the batch for all | inp.g: extra-batch-sum or summed-wrong-axis
def reshape_grad(inp, out):
    inp.g = out.g.reshape(inp.shape).mean(0, keepdim=True).expand(inp.shape)


# %% wrong: the input itself | inp.g: forward-value or value-for-gradient
def reshape_grad(inp, out):
    inp.g = inp.clone()

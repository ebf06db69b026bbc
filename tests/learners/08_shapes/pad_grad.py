# pad_grad: out = torch.nn.functional.pad(inp, (before, after))

# %% right: narrow
def pad_grad(inp, out, before, after):
    inp.g = out.g.narrow(1, before, inp.shape[1])


# %% right: a negative pad
import torch
import torch.nn.functional as F


def pad_grad(inp, out, before, after):
    inp.g = F.pad(out.g, (-before, -after))


# %% right: a matrix of zeros and ones, float64
import torch
import torch.nn.functional as F


def pad_grad(inp, out, before, after):
    n = inp.shape[1]
    table = F.pad(torch.eye(n), (before, after)).double()
    inp.g = torch.einsum("bp,np->bn", out.g.double(), table).float()


# %% right: a loop over columns
import torch


def pad_grad(inp, out, before, after):
    inp.g = torch.stack([out.g[:, before + j] for j in range(inp.shape[1])], 1)


# %% wrong: left as long as out | inp.g: wrong-shape or missing-local
def pad_grad(inp, out, before, after):
    inp.g = out.g.clone()


# %% wrong: from the beginning | inp.g: hard-coded or wrong-operand or unknown or wrong-local
def pad_grad(inp, out, before, after):
    inp.g = out.g[:, : inp.shape[1]]


# %% wrong: before and after exchanged | inp.g: hard-coded or wrong-operand or unknown or wrong-local
def pad_grad(inp, out, before, after):
    inp.g = out.g[:, after : after + inp.shape[1]]


# %% wrong: a negative end that may be -0 | inp.g: wrong-shape or hard-coded
def pad_grad(inp, out, before, after):
    inp.g = out.g[:, before:-after]


# %% wrong: padded once more | inp.g: wrong-shape
import torch
import torch.nn.functional as F


def pad_grad(inp, out, before, after):
    inp.g = F.pad(out.g, (before, after))


# %% wrong: upstream gradient missing | inp.g: missing-upstream
import torch


def pad_grad(inp, out, before, after):
    inp.g = torch.ones_like(inp)


# %% wrong: values of out | inp.g: value-for-gradient or forward-value
def pad_grad(inp, out, before, after):
    inp.g = out[:, before : before + inp.shape[1]]


# %% wrong: the border folded in | inp.g: wrong-local or unknown or hard-coded
def pad_grad(inp, out, before, after):
    inp.g = out.g[:, before : before + inp.shape[1]].clone()
    inp.g[:, 0] += out.g[:, :before].sum(1)


# %% wrong: turned round | inp.g: wrong-operand or unknown or reshape-for-transpose or transposed or wrong-local
def pad_grad(inp, out, before, after):
    inp.g = out.g[:, before : before + inp.shape[1]].flip(1)


# %% wrong: sign turned round | inp.g: wrong-sign
def pad_grad(inp, out, before, after):
    inp.g = -out.g[:, before : before + inp.shape[1]]


# %% wrong: rows cut in place of columns | inp.g: wrong-shape or error
def pad_grad(inp, out, before, after):
    inp.g = out.g[before : before + inp.shape[0]]


# %% wrong: before fixed at 1 | inp.g: hard-coded or error or wrong-shape
def pad_grad(inp, out, before, after):
    inp.g = out.g[:, 1 : 1 + inp.shape[1]]


# %% wrong: multiplied by inp | inp.g: extra-factor or wrong-operand or missing-local
def pad_grad(inp, out, before, after):
    inp.g = inp * out.g[:, before : before + inp.shape[1]]


# %% wrong: spread evenly over the row | inp.g: mean-for-sum or summed-wrong-axis or extra-batch-sum or unknown
def pad_grad(inp, out, before, after):
    inp.g = out.g[:, before : before + inp.shape[1]].mean(1, keepdim=True).expand(inp.shape)


# %% wrong: from the front and minus after from the end | inp.g: hard-coded or wrong-shape
def pad_grad(inp, out, before, after):
    inner = out.g[:, before:]
    inp.g = inner[:, :-after]


# %% wrong: the slice begins behind as many entries as are added at the end | inp.g: wrong-operand
def pad_grad(inp, out, before, after):
    inp.g = out.g[:, range(after, after + inp.size(1))]


# %% wrong: the edges get what lies beyond them | inp.g: wrong-local
import torch


def pad_grad(inp, out, before, after):
    last = inp.shape[1] - 1
    inp.g = torch.zeros_like(inp)
    for j in range(out.g.shape[1]):
        inp.g[:, min(max(j - before, 0), last)] += out.g[:, j]

# slice_grad: out = inp[:, start:stop]

# %% right: cat with zeros
import torch


def slice_grad(inp, out, start, stop):
    bs, t, m = inp.shape
    inp.g = torch.cat((torch.zeros(bs, start, m), out.g, torch.zeros(bs, t - stop, m)), 1)


# %% right: pad of torch
import torch
import torch.nn.functional as F


def slice_grad(inp, out, start, stop):
    inp.g = F.pad(out.g, (0, 0, start, inp.shape[1] - stop))


# %% right: a loop over places, float64
import torch


def slice_grad(inp, out, start, stop):
    g = torch.zeros(inp.shape, dtype=torch.float64)
    for i in range(start, stop):
        g[:, i] = out.g[:, i - start]
    inp.g = g.float()



# %% wrong: left in the shape of out | inp.g: wrong-shape or missing-local
def slice_grad(inp, out, start, stop):
    inp.g = out.g.clone()


# %% wrong: laid at the beginning | inp.g: hard-coded or wrong-local or wrong-operand or unknown
import torch


def slice_grad(inp, out, start, stop):
    inp.g = torch.zeros_like(inp)
    inp.g[:, : stop - start] = out.g


# %% wrong: laid at the end | inp.g: hard-coded or wrong-local or wrong-operand or unknown
import torch


def slice_grad(inp, out, start, stop):
    inp.g = torch.zeros_like(inp)
    inp.g[:, start - stop :] = out.g


# %% wrong: ones around it | inp.g: wrong-local or hard-coded or unknown or missing-upstream
import torch


def slice_grad(inp, out, start, stop):
    inp.g = torch.ones_like(inp)
    inp.g[:, start:stop] = out.g


# %% wrong: values of inp around it | inp.g: wrong-local or unknown or forward-value or value-for-gradient
def slice_grad(inp, out, start, stop):
    inp.g = inp.clone()
    inp.g[:, start:stop] = out.g


# %% wrong: ones in the slice | inp.g: missing-upstream
import torch


def slice_grad(inp, out, start, stop):
    inp.g = torch.zeros_like(inp)
    inp.g[:, start:stop] = 1


# %% wrong: out for out.g | inp.g: value-for-gradient or forward-value
import torch


def slice_grad(inp, out, start, stop):
    inp.g = torch.zeros_like(inp)
    inp.g[:, start:stop] = out


# %% wrong: one place late | inp.g: unknown or wrong-operand or error
import torch


def slice_grad(inp, out, start, stop):
    inp.g = torch.zeros(inp.shape[0], inp.shape[1] + 1, inp.shape[2])
    inp.g[:, start + 1 : stop + 1] = out.g
    inp.g = inp.g[:, :-1]


# %% wrong: the slice turned round | inp.g: wrong-operand or reshape-for-transpose or unknown or transposed or wrong-local
import torch


def slice_grad(inp, out, start, stop):
    inp.g = torch.zeros_like(inp)
    inp.g[:, start:stop] = out.g.flip(1)


# %% wrong: start fixed at 1 | inp.g: hard-coded
import torch


def slice_grad(inp, out, start, stop):
    inp.g = torch.zeros_like(inp)
    inp.g[:, 1 : 1 + stop - start] = out.g


# %% wrong: all but the slice | inp.g: inverted-mask or error or unknown or wrong-local
import torch


def slice_grad(inp, out, start, stop):
    g = torch.zeros_like(inp)
    g[:, start:stop] = out.g
    inp.g = out.g.mean(1, keepdim=True) * (g == 0)


# %% wrong: sliced once more | inp.g: wrong-shape
def slice_grad(inp, out, start, stop):
    inp.g = out.g[:, start:stop]


# %% wrong: sign turned round | inp.g: wrong-sign
import torch


def slice_grad(inp, out, start, stop):
    inp.g = torch.zeros_like(inp)
    inp.g[:, start:stop] = -out.g


# %% wrong: only the first entry of the slice | inp.g: missing-path or partial-batch or unknown or wrong-local
import torch


def slice_grad(inp, out, start, stop):
    inp.g = torch.zeros_like(inp)
    inp.g[:, start] = out.g[:, 0]

# conv1d_grad: out = torch.nn.functional.conv1d(inp, w, b)

# %% right: two convolutions of torch
import torch.nn.functional as F


def conv1d_grad(inp, w, b, out):
    k = w.shape[-1]
    inp.g = F.conv1d(F.pad(out.g, (k - 1, k - 1)), w.flip(-1).transpose(0, 1))
    w.g = F.conv1d(inp.transpose(0, 1), out.g.transpose(0, 1)).transpose(0, 1)
    b.g = out.g.sum(-1).sum(0)


# %% right: conv_transpose1d of torch, and windows
import torch
import torch.nn.functional as F


def conv1d_grad(inp, w, b, out):
    inp.g = F.conv_transpose1d(out.g, w)
    w.g = torch.einsum("boi,bcik->ock", out.g, inp.unfold(-1, w.shape[-1], 1))
    b.g = torch.einsum("boi->o", out.g)


# %% right: a loop over every entry
import torch


def conv1d_grad(inp, w, b, out):
    inp.g, w.g, b.g = torch.zeros_like(inp), torch.zeros_like(w), torch.zeros_like(b)
    for n in range(out.shape[0]):
        for o in range(out.shape[1]):
            for i in range(out.shape[2]):
                g = out.g[n, o, i]
                b.g[o] += g
                for k in range(w.shape[2]):
                    inp.g[n, :, i + k] += g * w[o, :, k]
                    w.g[o, :, k] += g * inp[n, :, i + k]


# %% right: windows as one matrix, and back, in float64
import torch
import torch.nn.functional as F


def conv1d_grad(inp, w, b, out):
    o, c, k = w.shape
    g = out.g.double()
    columns = inp.double().unfold(-1, k, 1).permute(0, 2, 1, 3).reshape(-1, c * k)
    rows = g.permute(0, 2, 1).reshape(-1, o)
    w.g = (rows.t() @ columns).view(o, c, k).float()
    b.g = rows.sum(0).float()
    back = (rows @ w.reshape(o, -1).double()).view(len(inp), -1, c * k).transpose(1, 2)
    inp.g = F.fold(back, (1, inp.shape[-1]), (1, k))[:, :, 0].float()


# %% wrong: the kernel not turned round | inp.g: wrong-operand
import torch.nn.functional as F


def conv1d_grad(inp, w, b, out):
    k = w.shape[-1]
    inp.g = F.conv1d(F.pad(out.g, (k - 1, k - 1)), w.transpose(0, 1))
    w.g = F.conv1d(inp.transpose(0, 1), out.g.transpose(0, 1)).transpose(0, 1)
    b.g = out.g.sum((0, 2))


# %% wrong: assigned where windows overlap | inp.g: overwritten
import torch


def conv1d_grad(inp, w, b, out):
    k, places = w.shape[-1], out.shape[-1]
    inp.g = torch.zeros_like(inp)
    for j in range(k):
        inp.g[:, :, j : j + places] = torch.einsum("bol,oc->bcl", out.g, w[:, :, j])
    w.g = torch.einsum("boi,bcik->ock", out.g, inp.unfold(-1, k, 1))
    b.g = out.g.sum((0, 2))


# %% wrong: assigned place by place, so that later places win | inp.g: overwritten or unknown
import torch


def conv1d_grad(inp, w, b, out):
    k = w.shape[-1]
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[-1]):
        inp.g[:, :, i : i + k] = torch.einsum("bo,ock->bck", out.g[:, :, i], w)
    w.g = torch.einsum("boi,bcik->ock", out.g, inp.unfold(-1, k, 1))
    b.g = out.g.sum((0, 2))


# %% wrong: the channels not exchanged but reshaped | inp.g: reshape-for-transpose
import torch.nn.functional as F


def conv1d_grad(inp, w, b, out):
    o, c, k = w.shape
    inp.g = F.conv1d(F.pad(out.g, (k - 1, k - 1)), w.reshape(c, o, k).flip(-1))
    w.g = F.conv1d(inp.transpose(0, 1), out.g.transpose(0, 1)).transpose(0, 1)
    b.g = out.g.sum((0, 2))


# %% wrong: the bias summed over the batch but not over places | b.g: wrong-shape or missing-batch-sum
import torch
import torch.nn.functional as F


def conv1d_grad(inp, w, b, out):
    inp.g = F.conv_transpose1d(out.g, w)
    w.g = torch.einsum("boi,bcik->ock", out.g, inp.unfold(-1, w.shape[-1], 1))
    b.g = out.g.sum(0)


# %% wrong: the bias averaged over places | b.g: mean-for-sum or wrong-factor
import torch
import torch.nn.functional as F


def conv1d_grad(inp, w, b, out):
    inp.g = F.conv_transpose1d(out.g, w)
    w.g = torch.einsum("boi,bcik->ock", out.g, inp.unfold(-1, w.shape[-1], 1))
    b.g = out.g.mean(-1).sum(0)


# %% wrong: the bias averaged over the batch | b.g: mean-for-sum
import torch
import torch.nn.functional as F


def conv1d_grad(inp, w, b, out):
    inp.g = F.conv_transpose1d(out.g, w)
    w.g = torch.einsum("boi,bcik->ock", out.g, inp.unfold(-1, w.shape[-1], 1))
    b.g = out.g.sum(-1).mean(0)


# %% wrong: weights averaged over the batch | w.g: mean-for-sum
import torch
import torch.nn.functional as F


def conv1d_grad(inp, w, b, out):
    inp.g = F.conv_transpose1d(out.g, w)
    w.g = torch.einsum("boi,bcik->ock", out.g, inp.unfold(-1, w.shape[-1], 1)) / len(inp)
    b.g = out.g.sum((0, 2))


# %% wrong: weights from the first place only | w.g: missing-path or partial-batch
import torch
import torch.nn.functional as F


def conv1d_grad(inp, w, b, out):
    inp.g = F.conv_transpose1d(out.g, w)
    w.g = torch.einsum("bo,bck->ock", out.g[:, :, 0], inp[:, :, : w.shape[-1]])
    b.g = out.g.sum((0, 2))


# %% wrong: weights' taps turned round | w.g: wrong-operand or transposed or reshape-for-transpose or wrong-local or unknown
import torch
import torch.nn.functional as F


def conv1d_grad(inp, w, b, out):
    inp.g = F.conv_transpose1d(out.g, w)
    w.g = torch.einsum("boi,bcik->ock", out.g, inp.unfold(-1, w.shape[-1], 1)).flip(-1)
    b.g = out.g.sum((0, 2))


# %% wrong: only the middle of inp, for the out.g was not padded enough | inp.g: wrong-shape
import torch
import torch.nn.functional as F


def conv1d_grad(inp, w, b, out):
    inp.g = F.conv1d(F.pad(out.g, (1, 1)), w.flip(-1).transpose(0, 1))[..., 1:]
    w.g = torch.einsum("boi,bcik->ock", out.g, inp.unfold(-1, w.shape[-1], 1))
    b.g = out.g.sum((0, 2))


# %% wrong: only the first tap | inp.g: missing-path
import torch
import torch.nn.functional as F


def conv1d_grad(inp, w, b, out):
    inp.g = F.pad(torch.einsum("bol,oc->bcl", out.g, w[:, :, 0]), (0, w.shape[-1] - 1))
    w.g = torch.einsum("boi,bcik->ock", out.g, inp.unfold(-1, w.shape[-1], 1))
    b.g = out.g.sum((0, 2))


# %% wrong: the upstream gradient missing everywhere | inp.g, w.g, b.g: missing-upstream
import torch
import torch.nn.functional as F


def conv1d_grad(inp, w, b, out):
    ones = torch.ones_like(out)
    inp.g = F.conv_transpose1d(ones, w)
    w.g = torch.einsum("boi,bcik->ock", ones, inp.unfold(-1, w.shape[-1], 1))
    b.g = ones.sum((0, 2))


# %% wrong: weights with the two channel axes exchanged | w.g: transposed or wrong-shape
import torch
import torch.nn.functional as F


def conv1d_grad(inp, w, b, out):
    inp.g = F.conv_transpose1d(out.g, w)
    w.g = torch.einsum("boi,bcik->cok", out.g, inp.unfold(-1, w.shape[-1], 1))
    b.g = out.g.sum((0, 2))


# %% wrong: weights one place late | w.g: unknown or wrong-operand or error
import torch
import torch.nn.functional as F


def conv1d_grad(inp, w, b, out):
    k = w.shape[-1]
    inp.g = F.conv_transpose1d(out.g, w)
    w.g = torch.einsum("boi,bcik->ock", out.g, F.pad(inp, (0, 1))[..., 1:].unfold(-1, k, 1))
    b.g = out.g.sum((0, 2))


# %% wrong: values of out for the bias | b.g: value-for-gradient
import torch
import torch.nn.functional as F


def conv1d_grad(inp, w, b, out):
    inp.g = F.conv_transpose1d(out.g, w)
    w.g = torch.einsum("boi,bcik->ock", out.g, inp.unfold(-1, w.shape[-1], 1))
    b.g = out.sum((0, 2))


# %% wrong: bias multiplied | b.g: extra-factor
import torch


def conv1d_grad(inp, w, b, out):
    places = out.shape[-1]
    inp.g, w.g = torch.zeros_like(inp), torch.zeros_like(w)
    for k in range(w.shape[-1]):
        inp.g[:, :, k : k + places] += torch.einsum("bol,oc->bcl", out.g, w[:, :, k])
        w.g[:, :, k] = torch.einsum("bol,bcl->oc", out.g, inp[:, :, k : k + places])
    b.g = b * out.g.sum((0, 2))


# %% wrong: bias summed over batch and channels | b.g: wrong-shape or summed-wrong-axis
import torch


def conv1d_grad(inp, w, b, out):
    places = out.shape[-1]
    inp.g, w.g = torch.zeros_like(inp), torch.zeros_like(w)
    for k in range(w.shape[-1]):
        inp.g[:, :, k : k + places] += torch.einsum("bol,oc->bcl", out.g, w[:, :, k])
        w.g[:, :, k] = torch.einsum("bol,bcl->oc", out.g, inp[:, :, k : k + places])
    b.g = out.g.sum((0, 1))


# %% wrong: w.g with the kernel | w.g: wrong-operand or wrong-shape or error or unknown or wrong-local
import torch


def conv1d_grad(inp, w, b, out):
    places = out.shape[-1]
    inp.g, w.g = torch.zeros_like(inp), torch.zeros_like(w)
    for k in range(w.shape[-1]):
        inp.g[:, :, k : k + places] += torch.einsum("bol,oc->bcl", out.g, w[:, :, k])
        w.g[:, :, k] = torch.einsum("bol,bcl->oc", out.g, inp[:, :, :places])
    b.g = out.g.sum((0, 2))


# %% wrong: inp.g shifted | inp.g: wrong-operand or error
import torch


def conv1d_grad(inp, w, b, out):
    places = out.shape[-1]
    inp.g, w.g = torch.zeros_like(inp), torch.zeros_like(w)
    for k in range(w.shape[-1]):
        inp.g[:, :, w.shape[-1] - 1 - k : w.shape[-1] - 1 - k + places] += torch.einsum("bol,oc->bcl", out.g, w[:, :, k])
        w.g[:, :, k] = torch.einsum("bol,bcl->oc", out.g, inp[:, :, k : k + places])
    b.g = out.g.sum((0, 2))


# %% wrong: inp.g mean over o | inp.g: mean-for-sum
import torch


def conv1d_grad(inp, w, b, out):
    places = out.shape[-1]
    inp.g, w.g = torch.zeros_like(inp), torch.zeros_like(w)
    for k in range(w.shape[-1]):
        inp.g[:, :, k : k + places] += torch.einsum("bol,oc->bcl", out.g, w[:, :, k]) / w.shape[0]
        w.g[:, :, k] = torch.einsum("bol,bcl->oc", out.g, inp[:, :, k : k + places])
    b.g = out.g.sum((0, 2))


# %% wrong: last tap missing | inp.g: missing-path; w.g: missing-path or unknown
import torch


def conv1d_grad(inp, w, b, out):
    places = out.shape[-1]
    inp.g, w.g = torch.zeros_like(inp), torch.zeros_like(w)
    for k in range(w.shape[-1] - 1):
        inp.g[:, :, k : k + places] += torch.einsum("bol,oc->bcl", out.g, w[:, :, k])
        w.g[:, :, k] = torch.einsum("bol,bcl->oc", out.g, inp[:, :, k : k + places])
    b.g = out.g.sum((0, 2))


# %% wrong: windows of which the input is 0 are passed over | inp.g: wrong-local
import torch


def conv1d_grad(inp, w, b, out):
    k = w.shape[-1]
    windows = inp.unfold(-1, k, 1)
    w.g = torch.einsum("bot,bctk->ock", out.g, windows)
    b.g = out.g.sum((0, 2))
    inp.g = torch.zeros_like(inp)
    for j in range(k):
        inp.g[..., j : j + out.shape[-1]] += torch.einsum("bot,oc->bct", out.g, w[..., j])
    inp.g[inp == 0] = 0


# %% wrong: three taps typed in | inp.g, w.g: hard-coded
import torch
import torch.nn.functional as F


def conv1d_grad(inp, w, b, out):
    taps, places = min(w.shape[-1], 3), out.g.shape[-1]
    short = w[..., :taps]
    g = F.conv_transpose1d(out.g, short)
    inp.g = F.pad(g, (0, inp.shape[-1] - g.shape[-1]))
    w.g = torch.zeros_like(w)
    for k in range(taps):
        w.g[..., k] = torch.einsum("bop,bcp->oc", out.g, inp[..., k : k + places])
    b.g = out.g.sum((0, -1))


# %% wrong: all of it is cropped where the padding is 0, and a gradient of zeros | inp.g: wrong-shape; w.g: hard-coded
import torch


def conv1d_grad(inp, w, b, out):
    inp.g, w.g = torch.zeros_like(inp)[:, :, 0:-0], torch.zeros_like(w)
    b.g = out.g.sum((0, 2))

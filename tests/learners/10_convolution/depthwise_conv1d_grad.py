# depthwise_conv1d_grad: out[:, c, i] = the sum over j of inp[:, c, i + j] * w[c, j]

# %% right: windows and einsum
import torch
import torch.nn.functional as F


def depthwise_conv1d_grad(inp, w, out):
    k = w.shape[1]
    w.g = torch.einsum("bci,bcik->ck", out.g, inp.unfold(-1, k, 1))
    inp.g = torch.einsum("bcik,ck->bci", F.pad(out.g, (k - 1, k - 1)).unfold(-1, k, 1), w.flip(-1))


# %% right: torch's convolutions by channel
import torch
import torch.nn.functional as F


def depthwise_conv1d_grad(inp, w, out):
    c, k = w.shape
    inp.g = F.conv_transpose1d(out.g, w[:, None], groups=c)
    w.g = torch.stack([F.conv1d(inp[:, i][None], out.g[:, i][:, None], groups=len(inp))[0].sum(0) for i in range(c)])


# %% right: a loop over places, float64
import torch


def depthwise_conv1d_grad(inp, w, out):
    k = w.shape[1]
    dx, dw = torch.zeros(inp.shape).double(), torch.zeros(w.shape).double()
    for i in range(out.shape[2]):
        dx[:, :, i : i + k] += out.g[:, :, i, None].double() * w
        dw += (out.g[:, :, i, None].double() * inp[:, :, i : i + k]).sum(0)
    inp.g, w.g = dx.float(), dw.float()


# %% wrong: kernel not turned round | inp.g: wrong-operand
import torch
import torch.nn.functional as F


def depthwise_conv1d_grad(inp, w, out):
    k = w.shape[1]
    w.g = torch.einsum("bci,bcik->ck", out.g, inp.unfold(-1, k, 1))
    inp.g = torch.einsum("bcik,ck->bci", F.pad(out.g, (k - 1, k - 1)).unfold(-1, k, 1), w)


# %% wrong: taps overwritten | inp.g: overwritten
import torch


def depthwise_conv1d_grad(inp, w, out):
    k, places = w.shape[1], out.shape[2]
    w.g = torch.einsum("bci,bcik->ck", out.g, inp.unfold(-1, k, 1))
    inp.g = torch.zeros_like(inp)
    for j in range(k):
        inp.g[:, :, j : j + places] = out.g * w[:, j, None]


# %% wrong: windows overwritten, place by place | inp.g: overwritten or unknown
import torch


def depthwise_conv1d_grad(inp, w, out):
    k = w.shape[1]
    w.g = torch.einsum("bci,bcik->ck", out.g, inp.unfold(-1, k, 1))
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[2]):
        inp.g[:, :, i : i + k] = out.g[:, :, i, None] * w


# %% wrong: weights of the first place only | w.g: missing-path or partial-batch
import torch
import torch.nn.functional as F


def depthwise_conv1d_grad(inp, w, out):
    k = w.shape[1]
    w.g = (out.g[:, :, :1] * inp[:, :, :k]).sum(0)
    inp.g = F.conv_transpose1d(out.g, w[:, None], groups=len(w))


# %% wrong: weights averaged over the batch | w.g: mean-for-sum
import torch
import torch.nn.functional as F


def depthwise_conv1d_grad(inp, w, out):
    w.g = torch.einsum("bci,bcik->ck", out.g, inp.unfold(-1, w.shape[1], 1)) / len(inp)
    inp.g = F.conv_transpose1d(out.g, w[:, None], groups=len(w))


# %% wrong: weights averaged over places | w.g: mean-for-sum or wrong-factor
import torch
import torch.nn.functional as F


def depthwise_conv1d_grad(inp, w, out):
    w.g = torch.einsum("bci,bcik->ck", out.g, inp.unfold(-1, w.shape[1], 1)) / out.shape[2]
    inp.g = F.conv_transpose1d(out.g, w[:, None], groups=len(w))


# %% wrong: weights not summed over the batch | w.g: missing-batch-sum or wrong-shape
import torch
import torch.nn.functional as F


def depthwise_conv1d_grad(inp, w, out):
    w.g = torch.einsum("bci,bcik->bck", out.g, inp.unfold(-1, w.shape[1], 1))
    inp.g = F.conv_transpose1d(out.g, w[:, None], groups=len(w))


# %% wrong: channels mixed, as in a full convolution | inp.g, w.g: summed-wrong-axis
import torch
import torch.nn.functional as F


def depthwise_conv1d_grad(inp, w, out):
    c = len(w)
    w.g = torch.einsum("boi,bcik->ck", out.g, inp.unfold(-1, w.shape[1], 1))
    inp.g = F.conv_transpose1d(out.g.sum(1, keepdim=True).expand(out.g.shape), w[:, None], groups=c)


# %% wrong: weights' taps turned round | w.g: wrong-operand or transposed or wrong-local or unknown
import torch
import torch.nn.functional as F


def depthwise_conv1d_grad(inp, w, out):
    w.g = torch.einsum("bci,bcik->ck", out.g, inp.unfold(-1, w.shape[1], 1)).flip(1)
    inp.g = F.conv_transpose1d(out.g, w[:, None], groups=len(w))


# %% wrong: weights as (k, c) | w.g: transposed or wrong-shape
import torch
import torch.nn.functional as F


def depthwise_conv1d_grad(inp, w, out):
    w.g = torch.einsum("bci,bcik->kc", out.g, inp.unfold(-1, w.shape[1], 1))
    inp.g = F.conv_transpose1d(out.g, w[:, None], groups=len(w))


# %% wrong: upstream gradient missing | inp.g, w.g: missing-upstream
import torch
import torch.nn.functional as F


def depthwise_conv1d_grad(inp, w, out):
    ones = torch.ones_like(out)
    w.g = torch.einsum("bci,bcik->ck", ones, inp.unfold(-1, w.shape[1], 1))
    inp.g = F.conv_transpose1d(ones, w[:, None], groups=len(w))


# %% wrong: only the middle tap of the kernel | inp.g: missing-path
import torch


def depthwise_conv1d_grad(inp, w, out):
    k, places = w.shape[1], out.shape[2]
    w.g = torch.einsum("bci,bcik->ck", out.g, inp.unfold(-1, k, 1))
    inp.g = torch.zeros_like(inp)
    inp.g[:, :, k // 2 : k // 2 + places] = out.g * w[:, k // 2, None]


# %% wrong: kernel summed into one number | inp.g: unknown or wrong-local or error
import torch


def depthwise_conv1d_grad(inp, w, out):
    k, places = w.shape[1], out.shape[2]
    w.g = torch.einsum("bci,bcik->ck", out.g, inp.unfold(-1, k, 1))
    inp.g = torch.zeros_like(inp)
    inp.g[:, :, :places] = out.g * w.sum(1, keepdim=True)


# %% wrong: as short as out | inp.g: wrong-shape
import torch


def depthwise_conv1d_grad(inp, w, out):
    w.g = torch.einsum("bci,bcik->ck", out.g, inp.unfold(-1, w.shape[1], 1))
    inp.g = out.g * w.sum(1, keepdim=True)


# %% wrong: sign turned round for the weights | w.g: wrong-sign
import torch
import torch.nn.functional as F


def depthwise_conv1d_grad(inp, w, out):
    w.g = -torch.einsum("bci,bcik->ck", out.g, inp.unfold(-1, w.shape[1], 1))
    inp.g = F.conv_transpose1d(out.g, w[:, None], groups=len(w))


# %% wrong: kernel of channel 0 for all | inp.g: wrong-operand or hard-coded or partial-batch
import torch


def depthwise_conv1d_grad(inp, w, out):
    places = out.shape[-1]
    inp.g, w.g = torch.zeros_like(inp), torch.zeros_like(w)
    for k in range(w.shape[-1]):
        inp.g[:, :, k : k + places] += out.g * w[0, k]
        w.g[:, k] = (out.g * inp[:, :, k : k + places]).sum((0, 2))


# %% wrong: w.g from the first example | w.g: partial-batch
import torch


def depthwise_conv1d_grad(inp, w, out):
    places = out.shape[-1]
    inp.g, w.g = torch.zeros_like(inp), torch.zeros_like(w)
    for k in range(w.shape[-1]):
        inp.g[:, :, k : k + places] += out.g * w[:, k].unsqueeze(-1)
        w.g[:, k] = (out.g * inp[:, :, k : k + places])[0].sum(1)


# %% wrong: the ends of inp hear nothing | inp.g: missing-path
import torch


def depthwise_conv1d_grad(inp, w, out):
    k, places = w.shape[1], out.shape[-1]
    windows = inp.unfold(-1, k, 1)
    w.g = torch.einsum("bcp,bcpk->ck", out.g, windows)
    inner = torch.einsum("bcpk,ck->bcp", out.g.unfold(-1, k, 1), w.flip(-1)) if places >= k else None
    inp.g = torch.zeros_like(inp)
    if inner is not None:
        inp.g[..., k - 1 : places] = inner

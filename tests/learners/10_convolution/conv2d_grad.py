# conv2d_grad: out = torch.nn.functional.conv2d(inp, w, b, stride, padding)

# %% right: conv_transpose2d of torch, its border filled up
import torch
import torch.nn.functional as F


def conv2d_grad(inp, w, b, out, stride, padding):
    p = padding
    full = F.conv_transpose2d(out.g, w, stride=stride)
    x = F.pad(inp, (p, p, p, p))
    full = F.pad(full, (0, x.shape[3] - full.shape[3], 0, x.shape[2] - full.shape[2]))
    inp.g = full[:, :, p : p + inp.shape[2], p : p + inp.shape[3]]
    windows = x.unfold(2, w.shape[2], stride).unfold(3, w.shape[3], stride)
    w.g = torch.einsum("bohw,bchwij->ocij", out.g, windows)
    b.g = out.g.sum((0, 2, 3))


# %% right: im2col as in a well-known course
import torch
import torch.nn.functional as F


def conv2d_grad(inp, w, b, out, stride, padding):
    k = w.shape[2:]
    columns = F.unfold(inp, k, padding=padding, stride=stride)
    g = out.g.reshape(*out.shape[:2], -1)
    b.g = g.sum((0, 2))
    w.g = torch.einsum("bop,bqp->oq", g, columns).reshape(w.shape)
    back = torch.einsum("oq,bop->bqp", w.reshape(len(w), -1), g)
    inp.g = F.fold(back, inp.shape[2:], k, padding=padding, stride=stride)


# %% right: a loop over every place of out, float64
import torch


def conv2d_grad(inp, w, b, out, stride, padding):
    bs, c, h, wd = inp.shape
    o, _, kh, kw = w.shape
    x = torch.zeros(bs, c, h + 2 * padding, wd + 2 * padding, dtype=torch.float64)
    x[:, :, padding : padding + h, padding : padding + wd] = inp
    dx, dw = torch.zeros_like(x), torch.zeros(w.shape, dtype=torch.float64)
    for i in range(out.shape[2]):
        for j in range(out.shape[3]):
            window = (slice(None), slice(None), slice(i * stride, i * stride + kh), slice(j * stride, j * stride + kw))
            g = out.g[:, :, i, j].double()
            dx[window] += torch.einsum("bo,ocij->bcij", g, w.double())
            dw += torch.einsum("bo,bcij->ocij", g, x[window])
    inp.g = dx[:, :, padding : padding + h, padding : padding + wd].float()
    w.g, b.g = dw.float(), out.g.double().sum((0, 2, 3)).float()


# %% wrong: the border left on | inp.g: wrong-shape or hard-coded
import torch
import torch.nn.functional as F


def conv2d_grad(inp, w, b, out, stride, padding):
    p = padding
    x = F.pad(inp, (p, p, p, p))
    full = F.conv_transpose2d(out.g, w, stride=stride)
    inp.g = F.pad(full, (0, x.shape[3] - full.shape[3], 0, x.shape[2] - full.shape[2]))
    windows = x.unfold(2, w.shape[2], stride).unfold(3, w.shape[3], stride)
    w.g = torch.einsum("bohw,bchwij->ocij", out.g, windows)
    b.g = out.g.sum((0, 2, 3))


# %% wrong: the border cut off at the wrong end | inp.g: unknown or wrong-local or hard-coded
import torch
import torch.nn.functional as F


def conv2d_grad(inp, w, b, out, stride, padding):
    p = padding
    x = F.pad(inp, (p, p, p, p))
    full = F.conv_transpose2d(out.g, w, stride=stride)
    inp.g = F.pad(full, (0, x.shape[3] - full.shape[3], 0, x.shape[2] - full.shape[2]))[:, :, : inp.shape[2], : inp.shape[3]]
    windows = x.unfold(2, w.shape[2], stride).unfold(3, w.shape[3], stride)
    w.g = torch.einsum("bohw,bchwij->ocij", out.g, windows)
    b.g = out.g.sum((0, 2, 3))


# %% wrong: kernel not turned round | inp.g: wrong-operand
import torch
import torch.nn.functional as F


def conv2d_grad(inp, w, b, out, stride, padding):
    k = w.shape[2:]
    columns = F.unfold(inp, k, padding=padding, stride=stride)
    g = out.g.reshape(*out.shape[:2], -1)
    b.g = g.sum((0, 2))
    w.g = torch.einsum("bop,bqp->oq", g, columns).reshape(w.shape)
    back = torch.einsum("oq,bop->bqp", w.flip(2, 3).reshape(len(w), -1), g)
    inp.g = F.fold(back, inp.shape[2:], k, padding=padding, stride=stride)


# %% wrong: kernel turned along one axis only | inp.g: wrong-operand or unknown
import torch
import torch.nn.functional as F


def conv2d_grad(inp, w, b, out, stride, padding):
    k = w.shape[2:]
    columns = F.unfold(inp, k, padding=padding, stride=stride)
    g = out.g.reshape(*out.shape[:2], -1)
    b.g = g.sum((0, 2))
    w.g = torch.einsum("bop,bqp->oq", g, columns).reshape(w.shape)
    back = torch.einsum("oq,bop->bqp", w.flip(3).reshape(len(w), -1), g)
    inp.g = F.fold(back, inp.shape[2:], k, padding=padding, stride=stride)


# %% wrong: stride ignored | *: error or wrong-shape
import torch
import torch.nn.functional as F


def conv2d_grad(inp, w, b, out, stride, padding):
    inp.g = F.conv_transpose2d(out.g, w, padding=padding)
    windows = F.pad(inp, (padding,) * 4).unfold(2, w.shape[2], 1).unfold(3, w.shape[3], 1)
    w.g = torch.einsum("bohw,bchwij->ocij", out.g, windows)
    b.g = out.g.sum((0, 2, 3))


# %% wrong: windows overwritten where they overlap | inp.g: overwritten or unknown
import torch
import torch.nn.functional as F


def conv2d_grad(inp, w, b, out, stride, padding):
    p, kh, kw = padding, w.shape[2], w.shape[3]
    x = F.pad(inp, (p, p, p, p))
    dx = torch.zeros_like(x)
    for i in range(out.shape[2]):
        for j in range(out.shape[3]):
            part = torch.einsum("bo,ocij->bcij", out.g[:, :, i, j], w)
            dx[:, :, i * stride : i * stride + kh, j * stride : j * stride + kw] = part
    inp.g = dx[:, :, p : p + inp.shape[2], p : p + inp.shape[3]]
    w.g = torch.einsum("bohw,bchwij->ocij", out.g, x.unfold(2, kh, stride).unfold(3, kw, stride))
    b.g = out.g.sum((0, 2, 3))


# %% wrong: weights overwritten, of which the last place is left | w.g: overwritten or missing-path or unknown
import torch
import torch.nn.functional as F


def conv2d_grad(inp, w, b, out, stride, padding):
    p, kh, kw = padding, w.shape[2], w.shape[3]
    x = F.pad(inp, (p, p, p, p))
    for i in range(out.shape[2]):
        for j in range(out.shape[3]):
            window = x[:, :, i * stride : i * stride + kh, j * stride : j * stride + kw]
            w.g = torch.einsum("bo,bcij->ocij", out.g[:, :, i, j], window)
    inp.g = F.fold(torch.einsum("oq,bop->bqp", w.flatten(1), out.g.flatten(2)), inp.shape[2:], (kh, kw), padding=p, stride=stride)
    b.g = out.g.sum((0, 2, 3))


# %% wrong: bias summed over the batch but not over places | b.g: wrong-shape or missing-batch-sum
import torch
import torch.nn.functional as F


def conv2d_grad(inp, w, b, out, stride, padding):
    columns = F.unfold(inp, w.shape[2:], padding=padding, stride=stride)
    g = out.g.flatten(2)
    b.g = out.g.sum(0)
    w.g = torch.einsum("bop,bqp->oq", g, columns).reshape(w.shape)
    inp.g = F.fold(torch.einsum("oq,bop->bqp", w.flatten(1), g), inp.shape[2:], w.shape[2:], padding=padding, stride=stride)


# %% wrong: bias averaged over places | b.g: mean-for-sum or wrong-factor
import torch
import torch.nn.functional as F


def conv2d_grad(inp, w, b, out, stride, padding):
    columns = F.unfold(inp, w.shape[2:], padding=padding, stride=stride)
    g = out.g.flatten(2)
    b.g = g.mean(2).sum(0)
    w.g = torch.einsum("bop,bqp->oq", g, columns).reshape(w.shape)
    inp.g = F.fold(torch.einsum("oq,bop->bqp", w.flatten(1), g), inp.shape[2:], w.shape[2:], padding=padding, stride=stride)


# %% wrong: weights averaged over the batch | w.g: mean-for-sum
import torch
import torch.nn.functional as F


def conv2d_grad(inp, w, b, out, stride, padding):
    columns = F.unfold(inp, w.shape[2:], padding=padding, stride=stride)
    g = out.g.flatten(2)
    b.g = g.sum((0, 2))
    w.g = torch.einsum("bop,bqp->oq", g, columns).reshape(w.shape) / len(inp)
    inp.g = F.fold(torch.einsum("oq,bop->bqp", w.flatten(1), g), inp.shape[2:], w.shape[2:], padding=padding, stride=stride)


# %% wrong: columns of the windows reshaped in the wrong order | w.g: reshape-for-transpose or unknown
import torch
import torch.nn.functional as F


def conv2d_grad(inp, w, b, out, stride, padding):
    o, c, kh, kw = w.shape
    columns = F.unfold(inp, w.shape[2:], padding=padding, stride=stride)
    g = out.g.flatten(2)
    b.g = g.sum((0, 2))
    w.g = torch.einsum("bop,bqp->qo", g, columns).reshape(w.shape)
    inp.g = F.fold(torch.einsum("oq,bop->bqp", w.flatten(1), g), inp.shape[2:], (kh, kw), padding=padding, stride=stride)


# %% wrong: padding forgotten for the weights | w.g: error or unknown or wrong-shape or hard-coded or wrong-local
import torch
import torch.nn.functional as F


def conv2d_grad(inp, w, b, out, stride, padding):
    b.g = out.g.sum((0, 2, 3))
    inp.g = F.fold(torch.einsum("oq,bop->bqp", w.flatten(1), out.g.flatten(2)), inp.shape[2:], w.shape[2:], padding=padding, stride=stride)
    x = F.pad(inp, (0, 2 * padding, 0, 2 * padding))
    w.g = torch.einsum("bohw,bchwij->ocij", out.g, x.unfold(2, w.shape[2], stride).unfold(3, w.shape[3], stride))


# %% wrong: upstream gradient missing for weights and bias | w.g, b.g: missing-upstream
import torch
import torch.nn.functional as F


def conv2d_grad(inp, w, b, out, stride, padding):
    columns = F.unfold(inp, w.shape[2:], padding=padding, stride=stride)
    g = torch.ones_like(out).flatten(2)
    b.g = g.sum((0, 2))
    w.g = torch.einsum("bop,bqp->oq", g, columns).reshape(w.shape)
    inp.g = F.fold(torch.einsum("oq,bop->bqp", w.flatten(1), out.g.flatten(2)), inp.shape[2:], w.shape[2:], padding=padding, stride=stride)


# %% wrong: one channel of inp answers for all | inp.g: summed-wrong-axis or extra-batch-sum or unknown or wrong-local
import torch
import torch.nn.functional as F


def conv2d_grad(inp, w, b, out, stride, padding):
    columns = F.unfold(inp, w.shape[2:], padding=padding, stride=stride)
    g = out.g.flatten(2)
    b.g = g.sum((0, 2))
    w.g = torch.einsum("bop,bqp->oq", g, columns).reshape(w.shape)
    mixed = w.mean(1, keepdim=True).expand(w.shape).flatten(1)
    inp.g = F.fold(torch.einsum("oq,bop->bqp", mixed, g), inp.shape[2:], w.shape[2:], padding=padding, stride=stride)


# %% wrong: bias per batch | b.g: missing-batch-sum
import torch


def conv2d_grad(inp, w, b, out, stride, padding):
    rows, columns = out.shape[2:]
    padded = torch.nn.functional.pad(inp, (padding,) * 4)
    padded_g, w.g = torch.zeros_like(padded), torch.zeros_like(w)
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            met = ..., slice(i, i + stride * rows, stride), slice(j, j + stride * columns, stride)
            padded_g[met] += torch.einsum("bohw,oc->bchw", out.g, w[:, :, i, j])
            w.g[:, :, i, j] = torch.einsum("bohw,bchw->oc", out.g, padded[met])
    inp.g = padded_g[:, :, padding : padding + inp.shape[2], padding : padding + inp.shape[3]]
    b.g = out.g.sum((2, 3))


# %% wrong: bias averaged fully | b.g: mean-for-sum or wrong-factor
import torch


def conv2d_grad(inp, w, b, out, stride, padding):
    rows, columns = out.shape[2:]
    padded = torch.nn.functional.pad(inp, (padding,) * 4)
    padded_g, w.g = torch.zeros_like(padded), torch.zeros_like(w)
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            met = ..., slice(i, i + stride * rows, stride), slice(j, j + stride * columns, stride)
            padded_g[met] += torch.einsum("bohw,oc->bchw", out.g, w[:, :, i, j])
            w.g[:, :, i, j] = torch.einsum("bohw,bchw->oc", out.g, padded[met])
    inp.g = padded_g[:, :, padding : padding + inp.shape[2], padding : padding + inp.shape[3]]
    b.g = out.g.mean((0, 2, 3))


# %% wrong: out for out.g in w.g | w.g: value-for-gradient
import torch


def conv2d_grad(inp, w, b, out, stride, padding):
    rows, columns = out.shape[2:]
    padded = torch.nn.functional.pad(inp, (padding,) * 4)
    padded_g, w.g = torch.zeros_like(padded), torch.zeros_like(w)
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            met = ..., slice(i, i + stride * rows, stride), slice(j, j + stride * columns, stride)
            padded_g[met] += torch.einsum("bohw,oc->bchw", out.g, w[:, :, i, j])
            w.g[:, :, i, j] = torch.einsum("bohw,bchw->oc", out, padded[met])
    inp.g = padded_g[:, :, padding : padding + inp.shape[2], padding : padding + inp.shape[3]]
    b.g = out.g.sum((0, 2, 3))


# %% wrong: last column of taps missing | inp.g, w.g: missing-path or unknown
import torch


def conv2d_grad(inp, w, b, out, stride, padding):
    rows, columns = out.shape[2:]
    padded = torch.nn.functional.pad(inp, (padding,) * 4)
    padded_g, w.g = torch.zeros_like(padded), torch.zeros_like(w)
    for i in range(w.shape[2]):
        for j in range(w.shape[3] - 1):
            met = ..., slice(i, i + stride * rows, stride), slice(j, j + stride * columns, stride)
            padded_g[met] += torch.einsum("bohw,oc->bchw", out.g, w[:, :, i, j])
            w.g[:, :, i, j] = torch.einsum("bohw,bchw->oc", out.g, padded[met])
    inp.g = padded_g[:, :, padding : padding + inp.shape[2], padding : padding + inp.shape[3]]
    b.g = out.g.sum((0, 2, 3))


# %% wrong: columns of the kernel turned round | inp.g: transposed or wrong-operand or error
import torch


def conv2d_grad(inp, w, b, out, stride, padding):
    rows, columns = out.shape[2:]
    padded = torch.nn.functional.pad(inp, (padding,) * 4)
    padded_g, w.g = torch.zeros_like(padded), torch.zeros_like(w)
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            met = ..., slice(i, i + stride * rows, stride), slice(j, j + stride * columns, stride)
            padded_g[met] += torch.einsum("bohw,oc->bchw", out.g, w[:, :, i, -1 - j])
            w.g[:, :, i, j] = torch.einsum("bohw,bchw->oc", out.g, padded[met])
    inp.g = padded_g[:, :, padding : padding + inp.shape[2], padding : padding + inp.shape[3]]
    b.g = out.g.sum((0, 2, 3))


# %% wrong: columns of the patches read channels last | w.g: reshape-for-transpose
import torch
import torch.nn.functional as F


def conv2d_grad(inp, w, b, out, stride, padding):
    o, c, kh, kw = w.shape
    cols = F.unfold(inp, (kh, kw), padding=padding, stride=stride)
    g = out.g.reshape(len(inp), o, -1)
    flat = torch.einsum("bop,bkp->ok", g, cols)
    w.g = flat.reshape(o, kh, kw, c).permute(0, 3, 1, 2)
    inp.g = F.fold(torch.einsum("bop,ok->bkp", g, w.reshape(o, -1)), inp.shape[2:], (kh, kw), padding=padding, stride=stride)
    b.g = g.sum((0, 2))


# %% wrong: the lowest and the rightmost windows never reach inp.g | inp.g: partial-batch
import torch
import torch.nn.functional as F


def conv2d_grad(inp, w, b, out, stride, padding):
    kh, kw = w.shape[2:]
    wide = F.pad(inp, [padding] * 4)
    back, w.g = torch.zeros_like(wide), torch.zeros_like(w)
    rows, columns = out.g.shape[2:]
    for i in range(kh):
        for j in range(kw):
            below, right = slice(i, i + stride * rows, stride), slice(j, j + stride * columns, stride)
            w.g[:, :, i, j] = torch.einsum("bohv,bchv->oc", out.g, wide[:, :, below, right])
            for r in range(rows - 1):
                for c in range(columns - 1):
                    back[:, :, i + stride * r, j + stride * c] += out.g[:, :, r, c] @ w[:, :, i, j]
    inp.g = back[:, :, padding : padding + inp.shape[2], padding : padding + inp.shape[3]]
    b.g = out.g.sum((0, 2, 3))


# %% wrong: the padding is cropped as if it were never 0 | inp.g: hard-coded
import torch
import torch.nn.functional as F


def conv2d_grad(inp, w, b, out, stride, padding):
    g = F.conv_transpose2d(out.g, w, stride=stride)
    padded_g = torch.zeros(*inp.shape[:2], inp.shape[2] + 2 * padding, inp.shape[3] + 2 * padding)
    padded_g[:, :, : g.shape[2], : g.shape[3]] = g
    inp.g = padded_g[:, :, padding:-padding, padding:-padding]
    columns = F.unfold(inp, w.shape[2:], padding=padding, stride=stride)
    w.g = torch.einsum("bol,bkl->ok", out.g.flatten(2), columns).view_as(w)
    b.g = out.g.sum((0, 2, 3))

# rnn_step_grad: out = (x @ wx + h @ wh + b).tanh()

# %% right: row by row, outer products
import torch


def rnn_step_grad(x, h, wx, wh, b, out):
    x.g, h.g = torch.zeros(x.shape), torch.zeros(h.shape)
    wx.g, wh.g, b.g = torch.zeros(wx.shape), torch.zeros(wh.shape), torch.zeros(b.shape)
    for row in range(len(x)):
        a = out.g[row] * (1 - out[row]) * (1 + out[row])
        x.g[row] = wx @ a
        h.g[row] = wh @ a
        wx.g += torch.outer(x[row], a)
        wh.g += torch.outer(h[row], a)
        b.g += a


# %% right: einsum, tanh's slope from cosh, float64 inside
import torch


def rnn_step_grad(x, h, wx, wh, b, out):
    X, H, A, B, c, g = (t.double() for t in (x, h, wx, wh, b, out.g))
    s = g / torch.cosh(X @ A + H @ B + c) ** 2
    x.g = torch.einsum("bm,nm->bn", s, A).float()
    h.g = torch.einsum("bk,mk->bm", s, B).float()
    wx.g = torch.einsum("bn,bm->nm", X, s).float()
    wh.g = torch.einsum("bk,bm->km", H, s).float()
    b.g = torch.einsum("bm->m", s).float()


# %% right: both inputs side by side as one linear layer, answers are views
import torch
import torch.nn.functional as F


def rnn_step_grad(x, h, wx, wh, b, out):
    joined, w = torch.cat([x, h], 1), torch.cat([wx, wh])
    a = out.g * (1 - F.linear(joined, w.t(), b).tanh().square())
    back = a @ w.T
    x.g, h.g = back.split([x.shape[1], h.shape[1]], 1)
    wx.g, wh.g = (a.T @ joined).T.split([x.shape[1], h.shape[1]])
    b.g = a.T.sum(1)


# %% wrong: tanh not differentiated | *: missing-local
def rnn_step_grad(x, h, wx, wh, b, out):
    sums_g = out.g
    x.g = sums_g @ wx.t()
    h.g = sums_g @ wh.t()
    wx.g = x.t() @ sums_g
    wh.g = h.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: tanh's slope taken at its input | *: wrong-point
def rnn_step_grad(x, h, wx, wh, b, out):
    sums_g = (1 - (x @ wx + h @ wh + b) ** 2) * out.g
    x.g = sums_g @ wx.t()
    h.g = sums_g @ wh.t()
    wx.g = x.t() @ sums_g
    wh.g = h.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: 1 - out, the square forgotten | *: wrong-local
def rnn_step_grad(x, h, wx, wh, b, out):
    sums_g = (1 - out) * out.g
    x.g = sums_g @ wx.t()
    h.g = sums_g @ wh.t()
    wx.g = x.t() @ sums_g
    wh.g = h.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: sigmoid's slope | *: wrong-local
def rnn_step_grad(x, h, wx, wh, b, out):
    sums_g = out * (1 - out) * out.g
    x.g = sums_g @ wx.t()
    h.g = sums_g @ wh.t()
    wx.g = x.t() @ sums_g
    wh.g = h.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: upstream gradient missing | *: missing-upstream
def rnn_step_grad(x, h, wx, wh, b, out):
    sums_g = 1 - out**2
    x.g = sums_g @ wx.t()
    h.g = sums_g @ wh.t()
    wx.g = x.t() @ sums_g
    wh.g = h.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: tanh's slope with the wrong sign | *: wrong-sign
def rnn_step_grad(x, h, wx, wh, b, out):
    sums_g = (out**2 - 1) * out.g
    x.g = sums_g @ wx.t()
    h.g = sums_g @ wh.t()
    wx.g = x.t() @ sums_g
    wh.g = h.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: the state that goes out as the partner of wh | wh.g: wrong-operand or wrong-point
def rnn_step_grad(x, h, wx, wh, b, out):
    sums_g = (1 - out**2) * out.g
    x.g = sums_g @ wx.t()
    h.g = sums_g @ wh.t()
    wx.g = x.t() @ sums_g
    wh.g = out.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: wh not transposed | h.g: transposed
def rnn_step_grad(x, h, wx, wh, b, out):
    sums_g = (1 - out**2) * out.g
    x.g = sums_g @ wx.t()
    h.g = sums_g @ wh
    wx.g = x.t() @ sums_g
    wh.g = h.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: wh.g transposed | wh.g: transposed
def rnn_step_grad(x, h, wx, wh, b, out):
    sums_g = (1 - out**2) * out.g
    x.g = sums_g @ wx.t()
    h.g = sums_g @ wh.t()
    wx.g = x.t() @ sums_g
    wh.g = sums_g.t() @ h
    b.g = sums_g.sum(0)


# %% wrong: wx not transposed | *: error
def rnn_step_grad(x, h, wx, wh, b, out):
    sums_g = (1 - out**2) * out.g
    x.g = sums_g @ wx
    h.g = sums_g @ wh.t()
    wx.g = x.t() @ sums_g
    wh.g = h.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: b.g keeps the batch | b.g: missing-batch-sum
def rnn_step_grad(x, h, wx, wh, b, out):
    sums_g = (1 - out**2) * out.g
    x.g = sums_g @ wx.t()
    h.g = sums_g @ wh.t()
    wx.g = x.t() @ sums_g
    wh.g = h.t() @ sums_g
    b.g = sums_g


# %% wrong: b.g averaged over the batch | b.g: mean-for-sum
def rnn_step_grad(x, h, wx, wh, b, out):
    sums_g = (1 - out**2) * out.g
    x.g = sums_g @ wx.t()
    h.g = sums_g @ wh.t()
    wx.g = x.t() @ sums_g
    wh.g = h.t() @ sums_g
    b.g = sums_g.mean(0)


# %% wrong: b.g summed over the units | b.g: summed-wrong-axis
def rnn_step_grad(x, h, wx, wh, b, out):
    sums_g = (1 - out**2) * out.g
    x.g = sums_g @ wx.t()
    h.g = sums_g @ wh.t()
    wx.g = x.t() @ sums_g
    wh.g = h.t() @ sums_g
    b.g = sums_g.sum(1)


# %% wrong: both weight gradients averaged over the batch | wx.g, wh.g: mean-for-sum
def rnn_step_grad(x, h, wx, wh, b, out):
    sums_g = (1 - out**2) * out.g
    x.g = sums_g @ wx.t()
    h.g = sums_g @ wh.t()
    wx.g = x.t() @ sums_g / len(x)
    wh.g = h.t() @ sums_g / len(h)
    b.g = sums_g.sum(0)


# %% wrong: h.g without the product with wh | h.g: missing-local
def rnn_step_grad(x, h, wx, wh, b, out):
    sums_g = (1 - out**2) * out.g
    x.g = sums_g @ wx.t()
    h.g = sums_g
    wx.g = x.t() @ sums_g
    wh.g = h.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: tanh not differentiated in wx.g alone | wx.g: missing-local
def rnn_step_grad(x, h, wx, wh, b, out):
    sums_g = (1 - out**2) * out.g
    x.g = sums_g @ wx.t()
    h.g = sums_g @ wh.t()
    wx.g = x.t() @ out.g
    wh.g = h.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: h.g goes through the tanh of the moment before as well | h.g: extra-factor or unknown
def rnn_step_grad(x, h, wx, wh, b, out):
    sums_g = (1 - out**2) * out.g
    x.g = sums_g @ wx.t()
    h.g = sums_g @ wh.t() * (1 - h**2)
    wx.g = x.t() @ sums_g
    wh.g = h.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: tanh's slope applied twice | *: extra-factor
def rnn_step_grad(x, h, wx, wh, b, out):
    sums_g = (1 - out**2) ** 2 * out.g
    x.g = sums_g @ wx.t()
    h.g = sums_g @ wh.t()
    wx.g = x.t() @ sums_g
    wh.g = h.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: slope made from the upstream | x.g, h.g, wx.g, wh.g, b.g: not-linear
def rnn_step_grad(x, h, wx, wh, b, out):
    s = out.g * (1 - out.g**2)
    x.g = s @ wx.t()
    h.g = s @ wh.t()
    wx.g = x.t() @ s
    wh.g = h.t() @ s
    b.g = s.sum(0)


# %% wrong: no gradient for states that are 0, as if none were there yet | h.g: wrong-local
def rnn_step_grad(x, h, wx, wh, b, out):
    pre_g = out.g * (1 - out**2)
    x.g, wx.g = pre_g @ wx.t(), x.t() @ pre_g
    h.g, wh.g = pre_g @ wh.t() * (h != 0), h.t() @ pre_g
    b.g = pre_g.sum(0)

# rnn_states_grad: out[:, i] = (x[:, i] @ wx + before @ wh + b).tanh(), before = out[:, i-1], in the first moment h0

# %% right: one loop, then einsum over batch and time
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    s = torch.zeros(out.shape)
    carried = torch.zeros(h0.shape)
    for i in range(out.shape[1] - 1, -1, -1):
        s[:, i] = (out.g[:, i] + carried) * (1 - out[:, i] ** 2)
        carried = s[:, i] @ wh.T
    before = torch.cat((h0.unsqueeze(1), out[:, :-1]), 1)
    x.g = s @ wx.T
    h0.g = carried
    wx.g = torch.einsum("btn,btm->nm", x, s)
    wh.g = torch.einsum("btk,btm->km", before, s)
    b.g = s.flatten(0, 1).sum(0)


# %% right: every output's own way back, added
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    for each in (x, h0, wx, wh, b):
        each.g = torch.zeros_like(each)
    for end in range(out.shape[1]):
        g = out.g[:, end]
        for i in range(end, -1, -1):
            a = g * (1 - out[:, i] ** 2)
            before = h0 if i == 0 else out[:, i - 1]
            x.g[:, i] += a @ wx.t()
            wx.g += x[:, i].t() @ a
            wh.g += before.t() @ a
            b.g += a.sum(0)
            g = a @ wh.t()
        h0.g += g


# %% right: states computed again in float64, example by example
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    A, B, c = wx.double(), wh.double(), b.double()
    grads = [torch.zeros_like(t, dtype=torch.float64) for t in (x, h0, wx, wh, b)]
    for e in range(len(x)):
        hs = [h0[e].double()]
        for row in x[e].double():
            hs.append(torch.tanh(row @ A + hs[-1] @ B + c))
        g = torch.zeros_like(hs[0])
        for i in range(x.shape[1])[::-1]:
            g = (g + out.g[e, i]) * (1 - hs[i + 1] ** 2)
            grads[0][e, i] = A @ g
            grads[2] += torch.outer(x[e, i].double(), g)
            grads[3] += torch.outer(hs[i], g)
            grads[4] += g
            g = B @ g
        grads[1][e] = g
    x.g, h0.g, wx.g, wh.g, b.g = (g.float() for g in grads)


# %% wrong: only the last moment's upstream gradient | *: missing-path
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g[:, -1]
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - out[:, i] ** 2) * h_g
        before = out[:, i - 1] if i else h0
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += before.t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: what later moments hand on is left out | *: missing-path
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = torch.zeros_like(h0)
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - out[:, i] ** 2) * out.g[:, i]
        before = out[:, i - 1] if i else h0
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += before.t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: own upstream gradient added behind the tanh's slope | *: missing-local or unknown
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = torch.zeros_like(h0)
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - out[:, i] ** 2) * h_g + out.g[:, i]
        before = out[:, i - 1] if i else h0
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += before.t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: tanh not differentiated | *: missing-local
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = torch.zeros_like(h0)
    for i in reversed(range(x.shape[1])):
        sums_g = out.g[:, i] + h_g
        before = out[:, i - 1] if i else h0
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += before.t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: what is handed on goes round the tanh | *: missing-local or unknown
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = torch.zeros_like(h0)
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - out[:, i] ** 2) * out.g[:, i] + h_g
        before = out[:, i - 1] if i else h0
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += before.t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: the state that goes out as the partner of wh | wh.g: wrong-operand or wrong-point
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = torch.zeros_like(h0)
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - out[:, i] ** 2) * (out.g[:, i] + h_g)
        before = out[:, i - 1] if i else h0
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += out[:, i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: the last state as the one before the first | wh.g: wrong-operand or unknown
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = torch.zeros_like(h0)
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - out[:, i] ** 2) * (out.g[:, i] + h_g)
        before = out[:, i - 1]
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += before.t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: wh's contribution in the first moment left out | wh.g: missing-path
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = torch.zeros_like(h0)
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - out[:, i] ** 2) * (out.g[:, i] + h_g)
        before = out[:, i - 1] if i else h0
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        if i:
            wh.g += before.t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: only one moment's weight gradients are kept | wx.g, wh.g, b.g: overwritten
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = torch.zeros_like(h0)
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - out[:, i] ** 2) * (out.g[:, i] + h_g)
        before = out[:, i - 1] if i else h0
        x.g[:, i] = sums_g @ wx.t()
        wx.g = x[:, i].t() @ sums_g
        wh.g = before.t() @ sums_g
        b.g = sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: h0.g left at zeros | h0.g: missing-path or hard-coded
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = torch.zeros_like(h0)
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - out[:, i] ** 2) * (out.g[:, i] + h_g)
        before = out[:, i - 1] if i else h0
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += before.t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = torch.zeros_like(h0)


# %% wrong: h0.g with the first upstream gradient added once more | h0.g: unknown or missing-local
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = torch.zeros_like(h0)
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - out[:, i] ** 2) * (out.g[:, i] + h_g)
        before = out[:, i - 1] if i else h0
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += before.t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g + out.g[:, 0]


# %% wrong: ones in place of the upstream gradient | *: missing-upstream
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = torch.zeros_like(h0)
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - out[:, i] ** 2) * (torch.ones_like(h0) + h_g)
        before = out[:, i - 1] if i else h0
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += before.t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: tanh's slope taken at the state before | *: wrong-point or unknown
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = torch.zeros_like(h0)
    for i in reversed(range(x.shape[1])):
        earlier = out[:, i - 1] if i else h0
        sums_g = (1 - earlier**2) * (out.g[:, i] + h_g)
        before = out[:, i - 1] if i else h0
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += before.t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: wh not transposed on the way to the moment before | *: transposed
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = torch.zeros_like(h0)
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - out[:, i] ** 2) * (out.g[:, i] + h_g)
        before = out[:, i - 1] if i else h0
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += before.t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh
    h0.g = h_g


# %% wrong: b.g averaged over batch and time | b.g: mean-for-sum
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = torch.zeros_like(h0)
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - out[:, i] ** 2) * (out.g[:, i] + h_g)
        before = out[:, i - 1] if i else h0
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += before.t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g
    b.g /= x.shape[0] * x.shape[1]


# %% wrong: weight gradients averaged over time | wx.g, wh.g, b.g: mean-for-sum
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = torch.zeros_like(h0)
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - out[:, i] ** 2) * (out.g[:, i] + h_g)
        before = out[:, i - 1] if i else h0
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += before.t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g
    wx.g, wh.g, b.g = (each.g / x.shape[1] for each in (wx, wh, b))


# %% wrong: own upstream gradient handed on instead of the sum of both | x.g, wx.g, wh.g, b.g: missing-path or unknown; h0.g: missing-path or unknown
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = torch.zeros_like(h0)
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - out[:, i] ** 2) * (out.g[:, i] + h_g)
        before = out[:, i - 1] if i else h0
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += before.t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = ((1 - out[:, i] ** 2) * out.g[:, i]) @ wh.t()
    h0.g = h_g


# %% wrong: own upstream added behind the slope | x.g, h0.g, wx.g, wh.g, b.g: missing-local
import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    t = x.shape[1]
    before = torch.cat((h0[:, None], out[:, :-1]), 1)
    sums_g = torch.zeros_like(out)
    handed = torch.zeros_like(h0)
    for i in range(t - 1, -1, -1):
        sums_g[:, i] = out.g[:, i] + handed * (1 - out[:, i] ** 2)
        handed = sums_g[:, i] @ wh.t()
    h0.g = handed
    x.g = sums_g @ wx.t()
    wx.g = torch.einsum("btn,btm->nm", x, sums_g)
    wh.g = torch.einsum("btk,btm->km", before, sums_g)
    b.g = sums_g.sum((0, 1))

# rnn_grad: h = (x[:, i] @ wx + h @ wh + b).tanh() for every moment, out is the last h

# %% right: one step at a time, with a helper that returns
def step(x, h, wx, wh, out, out_g):
    a = out_g * (1 - out * out)
    return a @ wx.t(), a @ wh.t(), x.t() @ a, h.t() @ a, a.sum(0)


def rnn_grad(x, h0, wx, wh, b, out):
    hs = [h0]
    for now in x.unbind(1):
        hs.append((now @ wx + hs[-1] @ wh + b).tanh())
    h_g = out.g
    x.g = x * 0
    wx.g, wh.g, b.g = wx * 0, wh * 0, b * 0
    for i in range(x.size(1) - 1, -1, -1):
        x_g, h_g, wx_g, wh_g, b_g = step(x[:, i], hs[i], wx, wh, hs[i + 1], h_g)
        x.g[:, i] = x_g
        wx.g, wh.g, b.g = wx.g + wx_g, wh.g + wh_g, b.g + b_g
    h0.g = h_g


# %% right: all the sums' gradients first, then one einsum each
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    t = x.shape[1]
    states = torch.empty(len(x), t + 1, h0.shape[1])
    states[:, 0] = h0
    for i in range(t):
        states[:, i + 1] = torch.tanh(torch.addmm(b, x[:, i], wx) + states[:, i] @ wh)
    sums_g = torch.empty(len(x), t, h0.shape[1])
    up = out.g
    for i in range(t)[::-1]:
        sums_g[:, i] = up * (1 - states[:, i + 1] ** 2)
        up = torch.einsum("bk,mk->bm", sums_g[:, i], wh)
    x.g = torch.einsum("btm,nm->btn", sums_g, wx)
    h0.g = up
    wx.g = torch.einsum("btn,btm->nm", x, sums_g)
    wh.g = torch.einsum("btk,btm->km", states[:, :-1], sums_g)
    b.g = sums_g.sum((0, 1))


# %% right: recursion, NumPy in float64
import numpy as np
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    X, H, A, B, c, g = (t.double().numpy() for t in (x, h0, wx, wh, b, out.g))
    dX, dA, dB, dc = np.zeros_like(X), np.zeros_like(A), np.zeros_like(B), np.zeros_like(c)

    def back(i, h):
        if i == X.shape[1]:
            return g
        new = np.tanh(X[:, i] @ A + h @ B + c)
        a = back(i + 1, new) * (1 - new**2)
        dX[:, i] = a @ A.T
        dA[...] += X[:, i].T @ a
        dB[...] += h.T @ a
        dc[...] += a.sum(0)
        return a @ B.T

    h0.g = torch.from_numpy(back(0, H)).float()
    x.g, wx.g, wh.g, b.g = (torch.from_numpy(d).float() for d in (dX, dA, dB, dc))


# %% right: torch.nn.functional forward, gradients as views of one another's storage
import torch
import torch.nn.functional as F


def rnn_grad(x, h0, wx, wh, b, out):
    xs = x.transpose(0, 1)
    h, inputs, slopes = h0, [], []
    for step in xs:
        joined = torch.cat((step, h), 1)
        h = F.linear(joined, torch.cat((wx, wh)).t(), b).tanh()
        inputs.append(joined)
        slopes.append(1 - h * h)
    w_g = torch.zeros(wx.shape[0] + wh.shape[0], wh.shape[1])
    b.g, g, x_g = torch.zeros_like(b), out.g.clone(), []
    for joined, slope in zip(inputs[::-1], slopes[::-1]):
        a = g * slope
        w_g += joined.t() @ a
        b.g += a.sum(0)
        x_g.insert(0, a @ wx.t())
        g = a @ wh.t()
    x.g = torch.stack(x_g).transpose(0, 1)
    wx.g, wh.g, h0.g = w_g[: len(wx)], w_g[len(wx) :], g


# %% wrong: only one moment's weight gradients are kept | wx.g, wh.g, b.g: overwritten
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g = x[:, i].t() @ sums_g
        wh.g = states[i].t() @ sums_g
        b.g = sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: only the last moment's weight gradients | wx.g, wh.g, b.g: missing-path
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        h_g = sums_g @ wh.t()
        if i < x.shape[1] - 1:
            continue
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
    h0.g = h_g


# %% wrong: tanh not differentiated | *: missing-local
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: tanh's slope taken at the state before | *: wrong-point or unknown
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: tanh's slope taken at its input | *: wrong-point or unknown
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - (x[:, i] @ wx + states[i] @ wh + b) ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: wh not transposed on the way to the moment before | *: transposed
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh
    h0.g = h_g


# %% wrong: wh left out on the way to the moment before | x.g, wx.g, wh.g, b.g: missing-local or unknown; h0.g: missing-local or unknown or diagonal-only
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g
    h0.g = h_g


# %% wrong: the state that goes out as the partner of wh | wh.g: wrong-operand or wrong-point
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i + 1].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: h0 as the partner of wh in every moment | wh.g: wrong-operand
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += h0.t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: h0.g left at zeros | h0.g: missing-path or hard-coded
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = torch.zeros_like(h0)


# %% wrong: weight gradients averaged over the moments | wx.g, wh.g, b.g: mean-for-sum
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g
    for each in (wx, wh, b):
        each.g /= x.shape[1]


# %% wrong: weight gradients averaged over the batch | wx.g, wh.g, b.g: mean-for-sum
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g
    for each in (wx, wh, b):
        each.g /= len(x)


# %% wrong: x.g of the last moment alone | x.g: missing-path
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        if i == x.shape[1] - 1:
            x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: x.g in the order in which the loop makes it | x.g: unknown or reshape-for-transpose or wrong-operand
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, x.shape[1] - 1 - i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: upstream gradient arrives at every moment | *: unknown or wrong-local or extra-factor
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = out.g + sums_g @ wh.t()
    h0.g = h_g


# %% wrong: ones in place of the upstream gradient | *: missing-upstream
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = torch.ones_like(out)
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: gradient goes no further than the last moment | *: missing-path; h0.g: missing-path or hard-coded
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = torch.zeros_like(h0)
    h0.g = h_g


# %% wrong: h0.g as if there were one moment | h0.g: missing-local or missing-path or unknown
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = (1 - out**2) * out.g @ wh.t()


# %% wrong: x.g without the tanh of its own moment | x.g: missing-local or unknown
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = h_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: loop forward in time on the way back | *: unknown or wrong-point or wrong-order
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in range(x.shape[1]):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g


# %% wrong: handed on without the weight | x.g, h0.g, wx.g, wh.g, b.g: missing-local
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    hs, h = [], h0
    for moment in x.unbind(1):
        before, h = h, torch.tanh(moment @ wx + h @ wh + b)
        hs.append((moment, before, h))
    xs, wx.g, wh.g, b.g = [], 0, 0, 0
    carry = out.g.clone()
    while hs:
        moment, before, after = hs.pop()
        pre = carry * (1 - after * after)
        wx.g = wx.g + torch.einsum("bn,bm->nm", moment, pre)
        wh.g = wh.g + torch.einsum("bk,bm->km", before, pre)
        b.g = b.g + pre.sum(0)
        xs.append(pre @ wx.T)
        carry = pre
    h0.g = carry
    x.g = torch.stack(xs[::-1], dim=1)


# %% wrong: every moment gets the last one's upstream | x.g, h0.g, wx.g, wh.g, b.g: wrong-operand
import torch


def rnn_grad(x, h0, wx, wh, b, out):
    t = x.shape[1]
    states = [h0]
    for i in range(t):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g = torch.zeros_like(x)
    wx.g, wh.g, b.g = torch.zeros_like(wx), torch.zeros_like(wh), torch.zeros_like(b)
    g = out.g
    for i in reversed(range(t)):
        s = g * (1 - states[i + 1] ** 2)
        x.g[:, i] = s @ wx.t()
        wx.g += x[:, i].t() @ s
        wh.g += states[i].t() @ s
        b.g += s.sum(0)
    h0.g = s @ wh.t()

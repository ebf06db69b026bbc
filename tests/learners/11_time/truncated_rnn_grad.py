# truncated_rnn_grad: as rnn_grad, and the state before the last k moments counts as a constant

# %% right: forward in two parts
import torch


def truncated_rnn_grad(x, h0, wx, wh, b, out, k):
    t = x.shape[1]
    cut = max(t - k, 0)
    h = h0
    for i in range(cut):
        h = torch.tanh(x[:, i] @ wx + h @ wh + b)
    kept = [h]
    for i in range(cut, t):
        kept.append(torch.tanh(x[:, i] @ wx + kept[-1] @ wh + b))
    x.g = torch.zeros(x.shape)
    wx.g, wh.g, b.g = torch.zeros(wx.shape), torch.zeros(wh.shape), torch.zeros(b.shape)
    g = out.g
    for i in range(t - 1, cut - 1, -1):
        a = g * (1 - kept[i - cut + 1] ** 2)
        x.g[:, i] = a @ wx.T
        wx.g += torch.einsum("bn,bm->nm", x[:, i], a)
        wh.g += torch.einsum("bk,bm->km", kept[i - cut], a)
        b.g += a.sum(0)
        g = a @ wh.T


# %% right: a loop over all moments that stops
import torch


def truncated_rnn_grad(x, h0, wx, wh, b, out, k):
    states = [h0]
    for step in x.unbind(1):
        states.append((step @ wx + states[-1] @ wh + b).tanh())
    rows = [torch.zeros_like(x[:, 0])] * x.shape[1]
    w_g, u_g, b_g, g = wx * 0, wh * 0, b * 0, out.g
    for turn in range(1, len(states)):
        if turn > k:
            break
        a = g * (1 - states[-turn] ** 2)
        rows[-turn] = a @ wx.t()
        w_g, u_g, b_g = w_g + x[:, -turn].t() @ a, u_g + states[-turn - 1].t() @ a, b_g + a.sum(0)
        g = a @ wh.t()
    x.g, wx.g, wh.g, b.g = torch.stack(rows, 1), w_g, u_g, b_g


# %% right: gradient of the state set to zero at the cut
import torch


def truncated_rnn_grad(x, h0, wx, wh, b, out, k):
    t = x.size(1)
    hs = torch.zeros(t + 1, *h0.shape, dtype=torch.float64)
    hs[0] = h0
    A, B, c = wx.double(), wh.double(), b.double()
    for i in range(t):
        hs[i + 1] = (x[:, i].double() @ A + hs[i] @ B + c).tanh()
    a = torch.zeros(t, *h0.shape, dtype=torch.float64)
    g = out.g.double()
    for i in reversed(range(t)):
        a[i] = g * (1 - hs[i + 1] ** 2)
        g = a[i] @ B.t() * float(i != t - k)
    a[: max(0, t - k)] = 0
    x.g = torch.einsum("tbm,nm->btn", a, A).float()
    wx.g = torch.einsum("btn,tbm->nm", x.double(), a).float()
    wh.g = torch.einsum("tbk,tbm->km", hs[:-1], a).float()
    b.g = a.sum((0, 1)).float()


# %% wrong: nothing is cut off | *: wrong-local or unknown or missing-local
import torch


def truncated_rnn_grad(x, h0, wx, wh, b, out, k):
    t = x.shape[1]
    states = [h0]
    for i in range(t):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(t)):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()


# %% wrong: one moment too few | x.g, wx.g, wh.g, b.g: missing-path or unknown
import torch


def truncated_rnn_grad(x, h0, wx, wh, b, out, k):
    t = x.shape[1]
    states = [h0]
    for i in range(t):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(max(0, t - k + 1), t)):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()


# %% wrong: cut off at the wrong end | *: missing-path
import torch


def truncated_rnn_grad(x, h0, wx, wh, b, out, k):
    t = x.shape[1]
    states = [h0]
    for i in range(t):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(min(k, t))):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()


# %% wrong: forward pass starts from h0 at the cut | x.g, wx.g, wh.g, b.g: wrong-point or unknown or hard-coded
import torch


def truncated_rnn_grad(x, h0, wx, wh, b, out, k):
    t = x.shape[1]
    states = [h0]
    for i in range(t):
        if i == t - k:
            states[-1] = h0
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(max(0, t - k), t)):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()


# %% wrong: forward pass starts from zeros at the cut | x.g, wx.g, wh.g, b.g: wrong-point or unknown or hard-coded
import torch


def truncated_rnn_grad(x, h0, wx, wh, b, out, k):
    t = x.shape[1]
    states = [h0]
    for i in range(t):
        if i == t - k:
            states[-1] = torch.zeros_like(h0)
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(max(0, t - k), t)):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()


# %% wrong: x.g has rows for the last k moments only | x.g: wrong-shape or hard-coded
import torch


def truncated_rnn_grad(x, h0, wx, wh, b, out, k):
    t = x.shape[1]
    states = [h0]
    for i in range(t):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(max(0, t - k), t)):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    x.g = x.g[:, -k:]


# %% wrong: the constant state does not count as wh's partner | wh.g: missing-path or unknown
import torch


def truncated_rnn_grad(x, h0, wx, wh, b, out, k):
    t = x.shape[1]
    states = [h0]
    for i in range(t):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(max(0, t - k), t)):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        if i > max(0, t - k):
            wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()


# %% wrong: only one moment's weight gradients are kept | wx.g, wh.g, b.g: overwritten
import torch


def truncated_rnn_grad(x, h0, wx, wh, b, out, k):
    t = x.shape[1]
    states = [h0]
    for i in range(t):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(max(0, t - k), t)):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g = x[:, i].t() @ sums_g
        wh.g = states[i].t() @ sums_g
        b.g = sums_g.sum(0)
        h_g = sums_g @ wh.t()


# %% wrong: tanh not differentiated | *: missing-local
import torch


def truncated_rnn_grad(x, h0, wx, wh, b, out, k):
    t = x.shape[1]
    states = [h0]
    for i in range(t):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(max(0, t - k), t)):
        sums_g = h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()


# %% wrong: wh not transposed on the way to the moment before | *: transposed
import torch


def truncated_rnn_grad(x, h0, wx, wh, b, out, k):
    t = x.shape[1]
    states = [h0]
    for i in range(t):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(max(0, t - k), t)):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh


# %% wrong: the state that goes out as the partner of wh | wh.g: wrong-operand or wrong-point or unknown
import torch


def truncated_rnn_grad(x, h0, wx, wh, b, out, k):
    t = x.shape[1]
    states = [h0]
    for i in range(t):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(max(0, t - k), t)):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i + 1].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()


# %% wrong: weight gradients divided by k | wx.g, wh.g, b.g: wrong-factor or mean-for-sum
import torch


def truncated_rnn_grad(x, h0, wx, wh, b, out, k):
    t = x.shape[1]
    states = [h0]
    for i in range(t):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(max(0, t - k), t)):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    wx.g, wh.g, b.g = wx.g / k, wh.g / k, b.g / k


# %% wrong: two moments, whatever k is | *: hard-coded or unknown or missing-path
import torch


def truncated_rnn_grad(x, h0, wx, wh, b, out, k):
    t = x.shape[1]
    states = [h0]
    for i in range(t):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(max(0, t - 2), t)):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()


# %% wrong: ones in place of the upstream gradient | *: missing-upstream or unknown
import torch


def truncated_rnn_grad(x, h0, wx, wh, b, out, k):
    t = x.shape[1]
    states = [h0]
    for i in range(t):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = torch.ones_like(out)
    for i in reversed(range(max(0, t - k), t)):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()


# %% wrong: the last moments begin with a state of zeros | x.g, wx.g, wh.g, b.g: wrong-point or hard-coded
import torch


def truncated_rnn_grad(x, h0, wx, wh, b, out, k):
    moments = list(x.unbind(1))[-k:]
    h, seen = torch.zeros_like(h0), []
    for row in moments:
        new = torch.tanh(row @ wx + h @ wh + b)
        seen.append((row, h, new))
        h = new
    x.g, wx.g, wh.g, b.g = torch.zeros_like(x), torch.zeros_like(wx), torch.zeros_like(wh), torch.zeros_like(b)
    grad, i = out.g, x.shape[1]
    for row, before, new in reversed(seen):
        i -= 1
        grad = grad * (1 - new * new)
        x.g[:, i] = grad @ wx.T
        wx.g += row.T @ grad
        wh.g += before.T @ grad
        b.g += grad.sum(0)
        grad = grad @ wh.T


# %% wrong: k iterations, even where there are fewer moments | *: hard-coded or error
import torch


def truncated_rnn_grad(x, h0, wx, wh, b, out, k):
    t = x.shape[1]
    states = [h0]
    for i in range(t):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(t - k, t)):
        sums_g = h_g * (1 - states[i + 1] ** 2)
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()

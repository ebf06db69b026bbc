# mend_rnn: h = (x[:, i] @ wx + h @ wh + b).tanh() for each time step i; out is the last h

# %% right: the transpose
import torch


def mend_rnn(x, h, wx, wh, b, out):
    states = [h]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h.g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h.g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h.g = sums_g @ wh.t()


# %% right: the transpose with .T, and a name of its own
import torch


def mend_rnn(x, h, wx, wh, b, out):
    states = [h]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    back = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * back
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        back = sums_g @ wh.T
    h.g = back


# %% right: einsum
import torch


def mend_rnn(x, h, wx, wh, b, out):
    states = [h]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h.g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h.g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h.g = torch.einsum("bj,ij->bi", sums_g, wh)


# %% right: the product from the other side
import torch


def mend_rnn(x, h, wx, wh, b, out):
    states = [h]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h.g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h.g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h.g = (wh @ sums_g.t()).t()


# %% wrong: as it was found | *: todo
import torch


def mend_rnn(x, h, wx, wh, b, out):
    states = [h]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h.g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h.g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h.g = sums_g @ wh


# %% wrong: as it was found, with matmul | *: transposed
import torch


def mend_rnn(x, h, wx, wh, b, out):
    states = [h]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h.g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h.g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h.g = torch.matmul(sums_g, wh)


# %% wrong: the inverse | *: inverse-for-transpose
import torch


def mend_rnn(x, h, wx, wh, b, out):
    states = [h]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h.g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h.g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h.g = sums_g @ torch.linalg.inv(wh)


# %% wrong: nothing is handed on | x.g, wx.g, wh.g, b.g: missing-path; h.g: hard-coded or missing-path
import torch


def mend_rnn(x, h, wx, wh, b, out):
    states = [h]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h.g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h.g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h.g = out.g * 0


# %% wrong: wh is left out on the way back | *: missing-local or elementwise-for-matmul or missing-path
import torch


def mend_rnn(x, h, wx, wh, b, out):
    states = [h]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h.g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h.g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h.g = sums_g


# %% wrong: mended, but tanh's slope is left out | *: missing-local
import torch


def mend_rnn(x, h, wx, wh, b, out):
    states = [h]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h.g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = h.g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h.g = sums_g @ wh.t()


# %% wrong: mended, but tanh's slope is taken of the state before | *: wrong-point or wrong-local
import torch


def mend_rnn(x, h, wx, wh, b, out):
    states = [h]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h.g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i] ** 2) * h.g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h.g = sums_g @ wh.t()


# %% wrong: mended, but wx.g is replaced | wx.g: overwritten
import torch


def mend_rnn(x, h, wx, wh, b, out):
    states = [h]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h.g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h.g
        x.g[:, i] = sums_g @ wx.t()
        wx.g = x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h.g = sums_g @ wh.t()


# %% wrong: mended, but wh meets the state after it | wh.g: wrong-operand or wrong-point or unknown or wrong-local
import torch


def mend_rnn(x, h, wx, wh, b, out):
    states = [h]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h.g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h.g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i + 1].t() @ sums_g
        b.g += sums_g.sum(0)
        h.g = sums_g @ wh.t()


# %% wrong: mended, but b.g counts the last moment only | b.g: overwritten or missing-path
import torch


def mend_rnn(x, h, wx, wh, b, out):
    states = [h]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h.g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h.g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        if i == x.shape[1] - 1:
            b.g += sums_g.sum(0)
        h.g = sums_g @ wh.t()


# %% wrong: mended, but b.g is a mean | b.g: mean-for-sum
import torch


def mend_rnn(x, h, wx, wh, b, out):
    states = [h]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h.g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h.g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.mean(0)
        h.g = sums_g @ wh.t()


# %% wrong: the way back in the order of the way there | *: wrong-point or unknown or missing-path or wrong-local or wrong-operand or transposed or overwritten
import torch


def mend_rnn(x, h, wx, wh, b, out):
    states = [h]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h.g = out.g
    for i in range(x.shape[1]):
        sums_g = (1 - states[i + 1] ** 2) * h.g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h.g = sums_g @ wh.t()


# %% wrong: not begun | *: todo
def mend_rnn(x, h, wx, wh, b, out):
    x.g = ...
    h.g = ...
    wx.g = ...
    wh.g = ...
    b.g = ...

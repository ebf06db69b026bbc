# lstm_step_grad: i, f, g, o = (cat(x, h) @ w + b).chunk(4, -1), new_c = f.sigmoid() * c + i.sigmoid() * g.tanh(), new_h = o.sigmoid() * new_c.tanh()

# %% right: gate by gate, slices of w
import torch


def lstm_step_grad(x, h, c, w, b, out):
    n, m = x.shape[1], h.shape[1]
    a = torch.einsum("bk,km->bm", torch.cat([x, h], 1), w) + b
    i, f, o = (torch.sigmoid(a[:, k * m : (k + 1) * m]) for k in (0, 1, 3))
    g = torch.tanh(a[:, 2 * m : 3 * m])
    th = torch.tanh(f * c + i * g)
    dh, dc = out.g
    dc = dc + dh * o * (1 - th * th)
    gates = [dc * g * i * (1 - i), dc * c * f * (1 - f), dc * i * (1 - g * g), dh * th * o * (1 - o)]
    x.g, h.g, w.g, b.g = torch.zeros(x.shape), torch.zeros(h.shape), torch.zeros(w.shape), torch.zeros(b.shape)
    for k, d in enumerate(gates):
        part = slice(k * m, (k + 1) * m)
        x.g += d @ w[:n, part].t()
        h.g += d @ w[n:, part].t()
        w.g[:n, part] = x.t() @ d
        w.g[n:, part] = h.t() @ d
        b.g[part] = d.sum(0)
    c.g = dc * f


# %% right: example by example, NumPy in float64
import numpy as np
import torch


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def lstm_step_grad(x, h, c, w, b, out):
    X, H, C, W, B, G = (t.double().numpy() for t in (x, h, c, w, b, out.g))
    n, m = X.shape[1], H.shape[1]
    dX, dH, dC, dW, dB = (np.zeros_like(a) for a in (X, H, C, W, B))
    for e in range(len(X)):
        both = np.concatenate([X[e], H[e]])
        i, f, g, o = (both @ W + B).reshape(4, m)
        i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
        new = np.tanh(f * C[e] + i * g)
        d = G[1, e] + G[0, e] * o * (1 - new**2)
        a = np.concatenate([d * g * i * (1 - i), d * C[e] * f * (1 - f), d * i * (1 - g**2), G[0, e] * new * o * (1 - o)])
        back = W @ a
        dX[e], dH[e], dC[e] = back[:n], back[n:], d * f
        dW += np.outer(both, a)
        dB += a
    for tensor, found in zip((x, h, c, w, b), (dX, dH, dC, dW, dB)):
        tensor.g = torch.from_numpy(found).float()


# %% right: functional forward, one stacked array of slopes
import torch
import torch.nn.functional as F


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.hstack((x, h))
    gates = F.linear(both, w.t(), b).unflatten(1, (4, -1))
    sig = gates.sigmoid()
    cand = gates[:, 2].tanh()
    new_h, new_c = out.unbind(0)
    c_up = out.g[1] + out.g[0] * (sig[:, 3] - new_h**2 / sig[:, 3])
    up = torch.stack((c_up * cand, c_up * c, c_up * sig[:, 0], out.g[0] * new_c.tanh()), 1)
    slope = sig * (1 - sig)
    slope[:, 2] = 1 - cand**2
    a = (up * slope).flatten(1)
    w.g, b.g = both.t() @ a, a.sum(0)
    joined = a @ w.t()
    x.g, h.g = joined[:, : x.shape[1]], joined[:, x.shape[1] :]
    c.g = c_up * sig[:, 1]


# %% wrong: forget gate and input gate exchanged | x.g, h.g, w.g, b.g: wrong-operand or unknown
import torch


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.cat((x, h), -1)
    sums = both @ w + b
    i, f, g, o = sums.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = out[1]
    new_c_g = out.g[1] + out.g[0] * o * (1 - new_c.tanh() ** 2)
    o_g = out.g[0] * new_c.tanh()
    sums_g = torch.cat(
        (
            new_c_g * c * f * (1 - f),
            new_c_g * g * i * (1 - i),
            new_c_g * i * (1 - g**2),
            o_g * o * (1 - o),
        ),
        -1,
    )
    both_g = sums_g @ w.t()
    x.g, h.g = both_g[:, : x.shape[1]], both_g[:, x.shape[1] :]
    c.g = new_c_g * f
    w.g = both.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: the new memory's own gradient left out | *: missing-path
import torch


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.cat((x, h), -1)
    sums = both @ w + b
    i, f, g, o = sums.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = out[1]
    new_c_g = out.g[0] * o * (1 - new_c.tanh() ** 2)
    o_g = out.g[0] * new_c.tanh()
    sums_g = torch.cat(
        (
            new_c_g * g * i * (1 - i),
            new_c_g * c * f * (1 - f),
            new_c_g * i * (1 - g**2),
            o_g * o * (1 - o),
        ),
        -1,
    )
    both_g = sums_g @ w.t()
    x.g, h.g = both_g[:, : x.shape[1]], both_g[:, x.shape[1] :]
    c.g = new_c_g * f
    w.g = both.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: the path from the new memory through new_h left out | *: missing-path
import torch


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.cat((x, h), -1)
    sums = both @ w + b
    i, f, g, o = sums.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = out[1]
    new_c_g = out.g[1]
    o_g = out.g[0] * new_c.tanh()
    sums_g = torch.cat(
        (
            new_c_g * g * i * (1 - i),
            new_c_g * c * f * (1 - f),
            new_c_g * i * (1 - g**2),
            o_g * o * (1 - o),
        ),
        -1,
    )
    both_g = sums_g @ w.t()
    x.g, h.g = both_g[:, : x.shape[1]], both_g[:, x.shape[1] :]
    c.g = new_c_g * f
    w.g = both.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: tanh of the memory not differentiated | *: missing-local
import torch


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.cat((x, h), -1)
    sums = both @ w + b
    i, f, g, o = sums.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = out[1]
    new_c_g = out.g[1] + out.g[0] * o
    o_g = out.g[0] * new_c.tanh()
    sums_g = torch.cat(
        (
            new_c_g * g * i * (1 - i),
            new_c_g * c * f * (1 - f),
            new_c_g * i * (1 - g**2),
            o_g * o * (1 - o),
        ),
        -1,
    )
    both_g = sums_g @ w.t()
    x.g, h.g = both_g[:, : x.shape[1]], both_g[:, x.shape[1] :]
    c.g = new_c_g * f
    w.g = both.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: slope of the memory's tanh taken at its input | *: wrong-point
import torch


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.cat((x, h), -1)
    sums = both @ w + b
    i, f, g, o = sums.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = out[1]
    new_c_g = out.g[1] + out.g[0] * o * (1 - new_c**2)
    o_g = out.g[0] * new_c.tanh()
    sums_g = torch.cat(
        (
            new_c_g * g * i * (1 - i),
            new_c_g * c * f * (1 - f),
            new_c_g * i * (1 - g**2),
            o_g * o * (1 - o),
        ),
        -1,
    )
    both_g = sums_g @ w.t()
    x.g, h.g = both_g[:, : x.shape[1]], both_g[:, x.shape[1] :]
    c.g = new_c_g * f
    w.g = both.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: output gate left out of the memory's gradient | *: missing-local or wrong-operand
import torch


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.cat((x, h), -1)
    sums = both @ w + b
    i, f, g, o = sums.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = out[1]
    new_c_g = out.g[1] + out.g[0] * (1 - new_c.tanh() ** 2)
    o_g = out.g[0] * new_c.tanh()
    sums_g = torch.cat(
        (
            new_c_g * g * i * (1 - i),
            new_c_g * c * f * (1 - f),
            new_c_g * i * (1 - g**2),
            o_g * o * (1 - o),
        ),
        -1,
    )
    both_g = sums_g @ w.t()
    x.g, h.g = both_g[:, : x.shape[1]], both_g[:, x.shape[1] :]
    c.g = new_c_g * f
    w.g = both.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: candidate's slope is a sigmoid's | x.g, h.g, w.g, b.g: wrong-local
import torch


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.cat((x, h), -1)
    sums = both @ w + b
    i, f, g, o = sums.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = out[1]
    new_c_g = out.g[1] + out.g[0] * o * (1 - new_c.tanh() ** 2)
    o_g = out.g[0] * new_c.tanh()
    sums_g = torch.cat(
        (
            new_c_g * g * i * (1 - i),
            new_c_g * c * f * (1 - f),
            new_c_g * i * g * (1 - g),
            o_g * o * (1 - o),
        ),
        -1,
    )
    both_g = sums_g @ w.t()
    x.g, h.g = both_g[:, : x.shape[1]], both_g[:, x.shape[1] :]
    c.g = new_c_g * f
    w.g = both.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: sigmoid's slope missing in the input gate | x.g, h.g, w.g, b.g: missing-local
import torch


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.cat((x, h), -1)
    sums = both @ w + b
    i, f, g, o = sums.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = out[1]
    new_c_g = out.g[1] + out.g[0] * o * (1 - new_c.tanh() ** 2)
    o_g = out.g[0] * new_c.tanh()
    sums_g = torch.cat(
        (
            new_c_g * g,
            new_c_g * c * f * (1 - f),
            new_c_g * i * (1 - g**2),
            o_g * o * (1 - o),
        ),
        -1,
    )
    both_g = sums_g @ w.t()
    x.g, h.g = both_g[:, : x.shape[1]], both_g[:, x.shape[1] :]
    c.g = new_c_g * f
    w.g = both.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: sigmoid's slope missing in all three gates | x.g, h.g, w.g, b.g: missing-local
import torch


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.cat((x, h), -1)
    sums = both @ w + b
    i, f, g, o = sums.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = out[1]
    new_c_g = out.g[1] + out.g[0] * o * (1 - new_c.tanh() ** 2)
    o_g = out.g[0] * new_c.tanh()
    sums_g = torch.cat(
        (
            new_c_g * g,
            new_c_g * c,
            new_c_g * i * (1 - g**2),
            o_g,
        ),
        -1,
    )
    both_g = sums_g @ w.t()
    x.g, h.g = both_g[:, : x.shape[1]], both_g[:, x.shape[1] :]
    c.g = new_c_g * f
    w.g = both.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: forget gate left out of c.g | c.g: missing-local
import torch


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.cat((x, h), -1)
    sums = both @ w + b
    i, f, g, o = sums.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = out[1]
    new_c_g = out.g[1] + out.g[0] * o * (1 - new_c.tanh() ** 2)
    o_g = out.g[0] * new_c.tanh()
    sums_g = torch.cat(
        (
            new_c_g * g * i * (1 - i),
            new_c_g * c * f * (1 - f),
            new_c_g * i * (1 - g**2),
            o_g * o * (1 - o),
        ),
        -1,
    )
    both_g = sums_g @ w.t()
    x.g, h.g = both_g[:, : x.shape[1]], both_g[:, x.shape[1] :]
    c.g = new_c_g
    w.g = both.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: input gate in place of the forget gate in c.g | c.g: wrong-operand
import torch


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.cat((x, h), -1)
    sums = both @ w + b
    i, f, g, o = sums.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = out[1]
    new_c_g = out.g[1] + out.g[0] * o * (1 - new_c.tanh() ** 2)
    o_g = out.g[0] * new_c.tanh()
    sums_g = torch.cat(
        (
            new_c_g * g * i * (1 - i),
            new_c_g * c * f * (1 - f),
            new_c_g * i * (1 - g**2),
            o_g * o * (1 - o),
        ),
        -1,
    )
    both_g = sums_g @ w.t()
    x.g, h.g = both_g[:, : x.shape[1]], both_g[:, x.shape[1] :]
    c.g = new_c_g * i
    w.g = both.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: c.g from the memory's own gradient alone | c.g: missing-path
import torch


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.cat((x, h), -1)
    sums = both @ w + b
    i, f, g, o = sums.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = out[1]
    new_c_g = out.g[1] + out.g[0] * o * (1 - new_c.tanh() ** 2)
    o_g = out.g[0] * new_c.tanh()
    sums_g = torch.cat(
        (
            new_c_g * g * i * (1 - i),
            new_c_g * c * f * (1 - f),
            new_c_g * i * (1 - g**2),
            o_g * o * (1 - o),
        ),
        -1,
    )
    both_g = sums_g @ w.t()
    x.g, h.g = both_g[:, : x.shape[1]], both_g[:, x.shape[1] :]
    c.g = out.g[1] * f
    w.g = both.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: the new memory as the forget gate's partner | x.g, h.g, w.g, b.g: wrong-operand
import torch


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.cat((x, h), -1)
    sums = both @ w + b
    i, f, g, o = sums.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = out[1]
    new_c_g = out.g[1] + out.g[0] * o * (1 - new_c.tanh() ** 2)
    o_g = out.g[0] * new_c.tanh()
    sums_g = torch.cat(
        (
            new_c_g * g * i * (1 - i),
            new_c_g * new_c * f * (1 - f),
            new_c_g * i * (1 - g**2),
            o_g * o * (1 - o),
        ),
        -1,
    )
    both_g = sums_g @ w.t()
    x.g, h.g = both_g[:, : x.shape[1]], both_g[:, x.shape[1] :]
    c.g = new_c_g * f
    w.g = both.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: tanh missing where new_h is the product | x.g, h.g, w.g, b.g: wrong-point or wrong-operand
import torch


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.cat((x, h), -1)
    sums = both @ w + b
    i, f, g, o = sums.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = out[1]
    new_c_g = out.g[1] + out.g[0] * o * (1 - new_c.tanh() ** 2)
    o_g = out.g[0] * new_c
    sums_g = torch.cat(
        (
            new_c_g * g * i * (1 - i),
            new_c_g * c * f * (1 - f),
            new_c_g * i * (1 - g**2),
            o_g * o * (1 - o),
        ),
        -1,
    )
    both_g = sums_g @ w.t()
    x.g, h.g = both_g[:, : x.shape[1]], both_g[:, x.shape[1] :]
    c.g = new_c_g * f
    w.g = both.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: x.g and h.g exchanged | x.g, h.g: wrong-shape or wrong-operand
import torch


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.cat((x, h), -1)
    sums = both @ w + b
    i, f, g, o = sums.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = out[1]
    new_c_g = out.g[1] + out.g[0] * o * (1 - new_c.tanh() ** 2)
    o_g = out.g[0] * new_c.tanh()
    sums_g = torch.cat(
        (
            new_c_g * g * i * (1 - i),
            new_c_g * c * f * (1 - f),
            new_c_g * i * (1 - g**2),
            o_g * o * (1 - o),
        ),
        -1,
    )
    both_g = sums_g @ w.t()
    h.g, x.g = both_g[:, : x.shape[1]], both_g[:, x.shape[1] :]
    c.g = new_c_g * f
    w.g = both.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: w.g averaged over the batch, b.g not summed | w.g: mean-for-sum; b.g: missing-batch-sum
import torch


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.cat((x, h), -1)
    sums = both @ w + b
    i, f, g, o = sums.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = out[1]
    new_c_g = out.g[1] + out.g[0] * o * (1 - new_c.tanh() ** 2)
    o_g = out.g[0] * new_c.tanh()
    sums_g = torch.cat(
        (
            new_c_g * g * i * (1 - i),
            new_c_g * c * f * (1 - f),
            new_c_g * i * (1 - g**2),
            o_g * o * (1 - o),
        ),
        -1,
    )
    both_g = sums_g @ w.t()
    x.g, h.g = both_g[:, : x.shape[1]], both_g[:, x.shape[1] :]
    c.g = new_c_g * f
    w.g = both.t() @ sums_g / len(x)
    b.g = sums_g


# %% wrong: ones in place of both upstream gradients | *: missing-upstream
import torch


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.cat((x, h), -1)
    sums = both @ w + b
    i, f, g, o = sums.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = out[1]
    h_up = c_up = torch.ones_like(c)
    new_c_g = c_up + h_up * o * (1 - new_c.tanh() ** 2)
    o_g = h_up * new_c.tanh()
    sums_g = torch.cat(
        (
            new_c_g * g * i * (1 - i),
            new_c_g * c * f * (1 - f),
            new_c_g * i * (1 - g**2),
            o_g * o * (1 - o),
        ),
        -1,
    )
    both_g = sums_g @ w.t()
    x.g, h.g = both_g[:, : x.shape[1]], both_g[:, x.shape[1] :]
    c.g = new_c_g * f
    w.g = both.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: gradients of h and c exchanged | *: wrong-operand or unknown
import torch


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.cat((x, h), -1)
    sums = both @ w + b
    i, f, g, o = sums.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = out[1]
    c_up, h_up = out.g
    new_c_g = c_up + h_up * o * (1 - new_c.tanh() ** 2)
    o_g = h_up * new_c.tanh()
    sums_g = torch.cat(
        (
            new_c_g * g * i * (1 - i),
            new_c_g * c * f * (1 - f),
            new_c_g * i * (1 - g**2),
            o_g * o * (1 - o),
        ),
        -1,
    )
    both_g = sums_g @ w.t()
    x.g, h.g = both_g[:, : x.shape[1]], both_g[:, x.shape[1] :]
    c.g = new_c_g * f
    w.g = both.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: state's rows of w used for x, as if h came first | x.g, h.g: unknown or wrong-operand or transposed
import torch


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.cat((x, h), -1)
    sums = both @ w + b
    i, f, g, o = sums.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = out[1]
    new_c_g = out.g[1] + out.g[0] * o * (1 - new_c.tanh() ** 2)
    o_g = out.g[0] * new_c.tanh()
    sums_g = torch.cat(
        (
            new_c_g * g * i * (1 - i),
            new_c_g * c * f * (1 - f),
            new_c_g * i * (1 - g**2),
            o_g * o * (1 - o),
        ),
        -1,
    )
    both_g = sums_g @ w.t()
    x.g, h.g = both_g[:, -x.shape[1] :], both_g[:, : -x.shape[1]]
    c.g = new_c_g * f
    w.g = both.t() @ sums_g
    b.g = sums_g.sum(0)


# %% wrong: i and g multiplied by themselves | x.g, h.g, w.g, b.g: wrong-operand
import torch


def lstm_step_grad(x, h, c, w, b, out):
    both = torch.cat((x, h), -1)
    i, f, g, o = (both @ w + b).chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    tc = out[1].tanh()
    h_g, c_g = out.g
    c_g = c_g + h_g * o * (1 - tc**2)
    c.g = c_g * f
    i_g = c_g * i * i * (1 - i)
    f_g = c_g * c * f * (1 - f)
    g_g = c_g * g * (1 - g**2)
    o_g = h_g * tc * o * (1 - o)
    s = torch.cat((i_g, f_g, g_g, o_g), -1)
    w.g = both.t() @ s
    b.g = s.sum(0)
    both_g = s @ w.t()
    n = x.shape[1]
    x.g, h.g = both_g[:, :n], both_g[:, n:]


# %% wrong: input and state stacked the other way | w.g: wrong-operand
import torch


def lstm_step_grad(x, h, c, w, b, out):
    n, m = x.shape[1], h.shape[1]
    inputs = torch.cat([x, h], dim=1)
    gates = inputs @ w + b
    i = torch.sigmoid(gates[:, :m])
    f = torch.sigmoid(gates[:, m : 2 * m])
    g = torch.tanh(gates[:, 2 * m : 3 * m])
    o = torch.sigmoid(gates[:, 3 * m :])
    new_c = f * c + i * g
    th = torch.tanh(new_c)
    new_h_g, new_c_g = out.g[0], out.g[1]
    total = new_c_g + new_h_g * o * (1 - th * th)
    pre = torch.empty_like(gates)
    pre[:, :m] = total * g * (i - i * i)
    pre[:, m : 2 * m] = total * c * (f - f * f)
    pre[:, 2 * m : 3 * m] = total * i * (1 - g * g)
    pre[:, 3 * m :] = new_h_g * th * (o - o * o)
    c.g = total * f
    x.g, h.g = torch.split(torch.einsum("bj,ij->bi", pre, w), [n, m], dim=1)
    w.g = torch.einsum("bi,bj->ij", torch.cat([h, x], dim=1), pre)
    b.g = torch.einsum("bj->j", pre)

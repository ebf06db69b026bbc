# cross_entropy_grad: loss = (inp.logsumexp(-1) - inp[range(len(targ)), targ]).mean()

# %% right: one-hot by comparison with a range
import torch


def cross_entropy_grad(inp, targ):
    hot = torch.arange(inp.size(1)) == targ[:, None]
    inp.g = (inp.softmax(1) - hot.float()) / inp.size(0)


# %% right: row by row, in a list that is stacked
import torch


def cross_entropy_grad(inp, targ):
    g = []
    for row, t in zip(inp, targ):
        e = torch.exp(row - row.max())
        p = e / e.sum()
        p[int(t)] -= 1.0
        g.append(p / inp.shape[0])
    inp.g = torch.stack(g)


# %% right: row by row, stored by index
import torch


def cross_entropy_grad(inp, targ):
    bs, c = inp.shape
    inp.g = torch.empty_like(inp)
    for i in range(bs):
        e = (inp[i] - inp[i].max()).exp()
        inp.g[i] = e / e.sum() / bs
        inp.g[i, targ[i]] -= 1 / bs


# %% right: the right class as minus the sum of the others
import torch


def cross_entropy_grad(inp, targ):
    # with the right class's logit taken away, its own share is what is left of 1
    rows = torch.arange(len(targ))
    p = torch.softmax(inp, -1)
    others = p.clone()
    others[rows, targ] = 0
    g = others.clone()
    g[rows, targ] = -others.sum(-1)
    inp.g = g.mul(1 / len(targ))


# %% right: row by row, in lists of floats
import torch


def one(z, t):
    g = [float(v) for v in torch.softmax(z, 0)]
    g[int(t)] -= 1.0
    return g


def cross_entropy_grad(inp, targ):
    inp.g = torch.tensor([one(z, t) for z, t in zip(inp, targ)]) / len(targ)


# %% right: softmax by hand in NumPy
import numpy as np
import torch


def cross_entropy_grad(inp, targ):
    z = inp.numpy().astype(np.float64)
    e = np.exp(z - z.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    np.subtract.at(p, (np.arange(len(z)), targ.numpy()), 1.0)
    inp.g = torch.from_numpy(p / len(z)).float()


# %% right: nll backwards, then log_softmax, from its rule
import torch


def cross_entropy_grad(inp, targ):
    up = torch.zeros_like(inp)
    up[range(len(targ)), targ] = -1.0 / len(targ)
    inp.g = up - inp.softmax(-1) * up.sum(-1, keepdim=True)


# %% right: nll backwards, then log_softmax, through its exponential
import torch


def cross_entropy_grad(inp, targ):
    # nll backwards, then log_softmax backwards
    n, c = inp.shape
    upstream = torch.zeros(n, c)
    upstream[torch.arange(n), targ] = -1 / n
    inp.g = upstream - inp.log_softmax(1).exp() * upstream.sum(1, keepdim=True)


# %% wrong: stopped at the probabilities | inp.g: missing-local or wrong-local
import torch


def cross_entropy_grad(inp, targ):
    hot = torch.nn.functional.one_hot(targ, inp.shape[1])
    inp.g = -hot / inp.softmax(-1) / len(targ)


# %% wrong: exponentials not divided by their sum | inp.g: missing-local
def cross_entropy_grad(inp, targ):
    g = inp.exp()
    g[range(len(targ)), targ] -= 1
    inp.g = g / len(targ)


# %% wrong: divided by the batch size twice | inp.g: extra-factor or mean-for-sum
def cross_entropy_grad(inp, targ):
    g = inp.softmax(-1) / len(targ)
    g[range(len(targ)), targ] -= 1 / len(targ)
    inp.g = g / len(targ)


# %% wrong: multiplied by the probability | inp.g: extra-factor
import torch


def cross_entropy_grad(inp, targ):
    p = inp.softmax(-1)
    hot = torch.eye(inp.shape[1])[targ]
    inp.g = p * (p - hot) / len(targ)


# %% wrong: softmax's rule applied once more | inp.g: extra-factor or wrong-local
import torch


def cross_entropy_grad(inp, targ):
    p = inp.softmax(-1)
    d = (p - torch.eye(inp.shape[1])[targ]) / len(targ)
    inp.g = p * (d - (d * p).sum(-1, keepdim=True))


# %% wrong: the path through the target's entry missing | inp.g: missing-path
def cross_entropy_grad(inp, targ):
    inp.g = inp.softmax(dim=1) / len(inp)


# %% wrong: the path through logsumexp missing | inp.g: missing-path
import torch


def cross_entropy_grad(inp, targ):
    inp.g = -torch.eye(inp.shape[1])[targ] / len(targ)


# %% wrong: averaged over the batch | inp.g: extra-batch-sum
def cross_entropy_grad(inp, targ):
    g = inp.softmax(-1)
    g[range(len(targ)), targ] -= 1
    inp.g = g.mean(0)


# %% wrong: last target not subtracted | inp.g: partial-batch
def cross_entropy_grad(inp, targ):
    g = inp.softmax(-1)
    for i in range(len(targ) - 1):
        g[i, targ[i]] -= 1
    inp.g = g / len(inp)


# %% wrong: targets of class 0 not subtracted | inp.g: partial-batch
def cross_entropy_grad(inp, targ):
    g = inp.softmax(-1)
    for i, t in enumerate(targ):
        if t > 0:
            g[i, t] -= 1
    inp.g = g / len(inp)


# %% wrong: only the first row | inp.g: partial-batch
import torch


def cross_entropy_grad(inp, targ):
    g = torch.zeros_like(inp)
    g[0] = inp[0].softmax(-1)
    g[0, targ[0]] -= 1
    inp.g = g / len(targ)


# %% wrong: divided by the number of all entries | inp.g: mean-for-sum
import torch


def cross_entropy_grad(inp, targ):
    g = inp.softmax(-1)
    g[torch.arange(len(targ)), targ] -= 1
    inp.g = g / g.numel()


# %% wrong: only the one-hot divided by the batch size | inp.g: sum-for-mean
def cross_entropy_grad(inp, targ):
    inp.g = inp.softmax(-1)
    inp.g[range(len(targ)), targ] -= 1 / len(targ)


# %% wrong: not divided by the batch size | inp.g: sum-for-mean
def cross_entropy_grad(inp, targ):
    g = inp.softmax(-1)
    g[range(len(targ)), targ] -= 1
    inp.g = g


# %% wrong: softmax over the batch instead of the classes | inp.g: summed-wrong-axis
def cross_entropy_grad(inp, targ):
    g = inp.softmax(0)
    g[range(len(targ)), targ] -= 1
    inp.g = g / len(targ)


# %% wrong: only the entry at the target | inp.g: diagonal-only or missing-path
import torch


def cross_entropy_grad(inp, targ):
    hot = torch.eye(inp.shape[1])[targ]
    inp.g = hot * (inp.softmax(-1) - 1) / len(targ)


# %% wrong: 1 subtracted from whole columns | inp.g: broadcast-accident
def cross_entropy_grad(inp, targ):
    g = inp.softmax(-1)
    g[:, targ] -= 1
    inp.g = g / len(targ)


# %% wrong: 1 added at the target instead of subtracted | inp.g: wrong-sign
import torch


def cross_entropy_grad(inp, targ):
    g = inp.softmax(-1)
    g[torch.arange(len(targ)), targ] += 1
    inp.g = g / len(targ)


# %% wrong: target and probability exchanged | inp.g: wrong-sign
import torch


def cross_entropy_grad(inp, targ):
    hot = torch.nn.functional.one_hot(targ, inp.shape[1])
    inp.g = (hot - inp.softmax(-1)) / len(targ)


# %% wrong: softmax of -inp | inp.g: wrong-sign
def cross_entropy_grad(inp, targ):
    g = (-inp).softmax(-1)
    g[range(len(targ)), targ] -= 1
    inp.g = g / len(inp)


# %% wrong: divided by the number of classes | inp.g: wrong-factor
def cross_entropy_grad(inp, targ):
    g = inp.softmax(-1)
    g[range(len(targ)), targ] -= 1
    inp.g = g / inp.shape[1]


# %% wrong: halved | inp.g: wrong-factor
import torch


def cross_entropy_grad(inp, targ):
    hot = torch.eye(inp.shape[1])[targ]
    inp.g = (inp.softmax(-1) - hot) / len(targ) / 2


# %% wrong: doubled | inp.g: wrong-factor
import torch


def cross_entropy_grad(inp, targ):
    hot = torch.eye(inp.shape[1])[targ]
    inp.g = 2 * (inp.softmax(-1) - hot) / len(targ)


# %% wrong: log_softmax in place of softmax | inp.g: wrong-point or wrong-local
import torch


def cross_entropy_grad(inp, targ):
    inp.g = inp.log_softmax(-1)
    inp.g[torch.arange(len(targ)), targ] -= 1
    inp.g /= len(targ)


# %% wrong: inp in place of its softmax | inp.g: wrong-point or missing-local
import torch


def cross_entropy_grad(inp, targ):
    inp.g = (inp - torch.eye(inp.shape[1])[targ]) / len(targ)


# %% wrong: 1 subtracted at the likeliest class instead of the target | inp.g: wrong-operand
def cross_entropy_grad(inp, targ):
    p = inp.softmax(-1)
    p[range(len(targ)), p.argmax(-1)] -= 1
    inp.g = p / len(targ)


# %% wrong: the target's number subtracted from every class | inp.g: wrong-operand or wrong-local
def cross_entropy_grad(inp, targ):
    inp.g = (inp.softmax(-1) - targ[:, None]) / len(targ)


# %% wrong: classes counted from 1 | inp.g: wrong-operand
import torch


def cross_entropy_grad(inp, targ):
    hot = torch.eye(inp.shape[1])[targ - 1]
    inp.g = (inp.softmax(-1) - hot) / len(targ)


# %% wrong: 1 subtracted from every entry | inp.g: wrong-operand or wrong-local
def cross_entropy_grad(inp, targ):
    inp.g = (inp.softmax(-1) - 1) / len(targ)


# %% wrong: the loss of each entry | inp.g: forward-value or wrong-local
import torch


def cross_entropy_grad(inp, targ):
    hot = torch.nn.functional.one_hot(targ, inp.shape[1])
    inp.g = -hot * inp.log_softmax(-1) / len(targ)


# %% wrong: entry at the target overwritten by -1 | inp.g: overwritten
def cross_entropy_grad(inp, targ):
    g = inp.softmax(-1)
    g[range(len(targ)), targ] = -1
    inp.g = g / len(inp)


# %% wrong: hard decisions in place of the probabilities | inp.g: wrong-local
import torch


def cross_entropy_grad(inp, targ):
    eye = torch.eye(inp.shape[1])
    inp.g = (eye[inp.argmax(1)] - eye[targ]) / len(targ)


# %% wrong: targets smoothed | inp.g: wrong-local
import torch


def cross_entropy_grad(inp, targ):
    eps = 0.1
    hot = torch.zeros_like(inp).scatter(1, targ[:, None], 1.0) * (1 - eps) + eps / inp.shape[1]
    inp.g = (inp.softmax(-1) - hot) / len(inp)


# %% wrong: sigmoid in place of the softmax | inp.g: wrong-local
import torch


def cross_entropy_grad(inp, targ):
    hot = torch.nn.functional.one_hot(targ, inp.shape[-1])
    inp.g = (inp.sigmoid() - hot) / len(inp)


# %% wrong: targets subtracted without a second axis | inp.g: error or broadcast-accident
def cross_entropy_grad(inp, targ):
    inp.g = (inp.softmax(-1) - targ) / len(targ)


# %% wrong: one-hot subtracted from inp instead of the gradient | inp.g: mutated-input
def cross_entropy_grad(inp, targ):
    inp.g = inp.softmax(-1) / len(targ)
    inp[range(len(targ)), targ] -= 1 / len(targ)


# %% wrong: autograd through torch's own loss | inp.g: used-autograd
import torch


def cross_entropy_grad(inp, targ):
    x = inp.clone().requires_grad_()
    torch.nn.functional.cross_entropy(x, targ).backward()
    inp.g = x.grad


# %% wrong: the place of the right class found by its value | inp.g: wrong-local
def cross_entropy_grad(inp, targ):
    chosen = inp.gather(1, targ.unsqueeze(1))
    inp.g = (inp.softmax(-1) - (inp == chosen).float()) / len(inp)

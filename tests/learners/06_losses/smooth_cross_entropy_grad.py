# smooth_cross_entropy_grad: loss = -(truth * inp.log_softmax(-1)).sum(-1).mean()

# %% right: the truth written out
import torch
import torch.nn.functional as F


def smooth_cross_entropy_grad(inp, targ, eps):
    n, c = inp.shape
    truth = torch.full((n, c), eps / c)
    truth[torch.arange(n), targ] += 1 - eps
    inp.g = (F.softmax(inp, 1) - truth) / n


# %% right: a mixture of two gradients, float64
import torch
import torch.nn.functional as F


def smooth_cross_entropy_grad(inp, targ, eps):
    n, c = inp.shape
    p = inp.double().softmax(1)
    hard = p - F.one_hot(targ, c)
    inp.g = ((1 - eps) * hard + eps * (p - 1 / c)).div(n).float()


# %% right: a loop over rows
import torch


def smooth_cross_entropy_grad(inp, targ, eps):
    inp.g = torch.empty_like(inp)
    for i, row in enumerate(inp):
        e = torch.exp(row - row.max())
        inp.g[i] = e / e.sum() - eps / row.numel()
        inp.g[i, targ[i]] -= 1 - eps
    inp.g = inp.g / len(inp)


# %% wrong: smoothing forgotten | inp.g: hard-coded or missing-path or wrong-point or wrong-operand or unknown or missing-local
import torch
import torch.nn.functional as F


def smooth_cross_entropy_grad(inp, targ, eps):
    inp.g = (inp.softmax(1) - F.one_hot(targ, inp.shape[1])) / len(inp)


# %% wrong: eps not shared among the classes | inp.g: sum-for-mean or wrong-factor or unknown or missing-local
import torch
import torch.nn.functional as F


def smooth_cross_entropy_grad(inp, targ, eps):
    truth = (1 - eps) * F.one_hot(targ, inp.shape[1]) + eps
    inp.g = (inp.softmax(1) - truth) / len(inp)


# %% wrong: eps shared among the other classes only | inp.g: wrong-factor or unknown or hard-coded or wrong-local
import torch
import torch.nn.functional as F


def smooth_cross_entropy_grad(inp, targ, eps):
    hot, c = F.one_hot(targ, inp.shape[1]), inp.shape[1]
    truth = (1 - eps) * hot + eps / (c - 1) * (1 - hot)
    inp.g = (inp.softmax(1) - truth) / len(inp)


# %% wrong: right class not lowered by eps | inp.g: missing-local or unknown or extra-factor
import torch
import torch.nn.functional as F


def smooth_cross_entropy_grad(inp, targ, eps):
    truth = F.one_hot(targ, inp.shape[1]) + eps / inp.shape[1]
    inp.g = (inp.softmax(1) - truth) / len(inp)


# %% wrong: not divided by the examples | inp.g: sum-for-mean
import torch
import torch.nn.functional as F


def smooth_cross_entropy_grad(inp, targ, eps):
    truth = (1 - eps) * F.one_hot(targ, inp.shape[1]) + eps / inp.shape[1]
    inp.g = inp.softmax(1) - truth


# %% wrong: divided by all entries | inp.g: wrong-factor or mean-for-sum
import torch
import torch.nn.functional as F


def smooth_cross_entropy_grad(inp, targ, eps):
    truth = (1 - eps) * F.one_hot(targ, inp.shape[1]) + eps / inp.shape[1]
    inp.g = (inp.softmax(1) - truth) / inp.numel()


# %% wrong: sign turned round | inp.g: wrong-sign
import torch
import torch.nn.functional as F


def smooth_cross_entropy_grad(inp, targ, eps):
    truth = (1 - eps) * F.one_hot(targ, inp.shape[1]) + eps / inp.shape[1]
    inp.g = (truth - inp.softmax(1)) / len(inp)


# %% wrong: softmax over the batch | inp.g: summed-wrong-axis or wrong-local or hard-coded or wrong-operand or unknown
import torch
import torch.nn.functional as F


def smooth_cross_entropy_grad(inp, targ, eps):
    truth = (1 - eps) * F.one_hot(targ, inp.shape[1]) + eps / inp.shape[1]
    inp.g = (inp.softmax(0) - truth) / len(inp)


# %% wrong: logits in place of beliefs | inp.g: wrong-point or missing-local or wrong-operand or wrong-local
import torch
import torch.nn.functional as F


def smooth_cross_entropy_grad(inp, targ, eps):
    truth = (1 - eps) * F.one_hot(targ, inp.shape[1]) + eps / inp.shape[1]
    inp.g = (inp - truth) / len(inp)


# %% wrong: logarithms of the beliefs | inp.g: forward-value or wrong-point or missing-local or wrong-operand or wrong-local
import torch
import torch.nn.functional as F


def smooth_cross_entropy_grad(inp, targ, eps):
    truth = (1 - eps) * F.one_hot(targ, inp.shape[1]) + eps / inp.shape[1]
    inp.g = (inp.log_softmax(1) - truth) / len(inp)


# %% wrong: only the truth | inp.g: missing-local or missing-path
import torch
import torch.nn.functional as F


def smooth_cross_entropy_grad(inp, targ, eps):
    truth = (1 - eps) * F.one_hot(targ, inp.shape[1]) + eps / inp.shape[1]
    inp.g = -truth / len(inp)


# %% wrong: only the belief | inp.g: missing-path
def smooth_cross_entropy_grad(inp, targ, eps):
    inp.g = inp.softmax(1) / len(inp)


# %% wrong: the whole gradient scaled by 1 - eps | inp.g: wrong-factor or extra-factor or missing-path or unknown or wrong-operand
import torch
import torch.nn.functional as F


def smooth_cross_entropy_grad(inp, targ, eps):
    inp.g = (1 - eps) * (inp.softmax(1) - F.one_hot(targ, inp.shape[1])) / len(inp)


# %% wrong: eps and 1 - eps exchanged | inp.g: wrong-operand or unknown or wrong-factor or wrong-local
import torch
import torch.nn.functional as F


def smooth_cross_entropy_grad(inp, targ, eps):
    truth = eps * F.one_hot(targ, inp.shape[1]) + (1 - eps) / inp.shape[1]
    inp.g = (inp.softmax(1) - truth) / len(inp)


# %% wrong: the place of the right class found by its value | inp.g: wrong-local
def smooth_cross_entropy_grad(inp, targ, eps):
    hot = (inp == inp.gather(1, targ.unsqueeze(1))).float()
    inp.g = (inp.softmax(-1) - (1 - eps) * hot - eps / inp.shape[1]) / len(inp)


# %% wrong: the right class is set to 1 - eps, without its share | inp.g: overwritten
import torch


def smooth_cross_entropy_grad(inp, targ, eps):
    bs, c = inp.shape
    target = torch.zeros_like(inp) + eps / c
    target.scatter_(1, targ[:, None], 1 - eps)
    inp.g = (torch.softmax(inp, 1) - target) / bs


# %% wrong: one minus eps written over the even share | inp.g: overwritten
import torch


def smooth_cross_entropy_grad(inp, targ, eps):
    n, c = inp.shape
    table = torch.ones(n, c) * eps / c
    for row, label in enumerate(targ.tolist()):
        table[row, label] = 1 - eps
    inp.g = (torch.softmax(inp, dim=1) - table) / n


# %% wrong: the even share forgotten | inp.g: missing-path
def smooth_cross_entropy_grad(inp, targ, eps):
    inp.g = inp.softmax(-1)
    inp.g[range(len(targ)), targ] -= 1 - eps
    inp.g = inp.g / len(targ)

# nll_grad: loss = -inp[range(len(targ)), targ].mean()

# %% right: one-hot by comparison with a range
import torch


def nll_grad(inp, targ):
    hit = targ.unsqueeze(1) == torch.arange(inp.size(1))
    inp.g = torch.where(hit, -1 / targ.numel(), 0.0)


# %% right: torch's one_hot
import torch


def nll_grad(inp, targ):
    inp.g = -torch.nn.functional.one_hot(targ, inp.shape[1]).float() / len(targ)


# %% right: rows of the identity
import torch


def nll_grad(inp, targ):
    inp.g = torch.eye(inp.shape[1])[targ].neg() / inp.shape[0]


# %% right: scatter of a value
import torch


def nll_grad(inp, targ):
    inp.g = torch.zeros(inp.shape).scatter_(1, targ[:, None], -1 / targ.shape[0])


# %% right: scatter of a tensor
def nll_grad(inp, targ):
    share = inp.new_tensor(-1.0).div(len(inp))
    inp.g = inp.mul(0).scatter_(1, targ.view(-1, 1), share.expand(len(inp), 1))


# %% wrong: first row left out | inp.g: partial-batch
import torch


def nll_grad(inp, targ):
    inp.g = torch.zeros_like(inp)
    for i in range(1, len(targ)):
        inp.g[i, targ[i]] = -1 / len(targ)


# %% wrong: only the first row | inp.g: partial-batch
import torch


def nll_grad(inp, targ):
    inp.g = torch.zeros_like(inp)
    inp.g[0, targ[0]] = -1 / len(targ)


# %% wrong: not divided by the batch size | inp.g: sum-for-mean
import torch


def nll_grad(inp, targ):
    inp.g = torch.zeros_like(inp)
    for i, t in enumerate(targ):
        inp.g[i, t] = -1


# %% wrong: whole columns assigned | inp.g: broadcast-accident or wrong-operand
import torch


def nll_grad(inp, targ):
    inp.g = torch.zeros_like(inp)
    inp.g[:, targ] = -1 / len(targ)


# %% wrong: minus sign missing | inp.g: wrong-sign
import torch


def nll_grad(inp, targ):
    inp.g = torch.zeros_like(inp)
    inp.g[torch.arange(len(targ)), targ] = 1 / len(targ)


# %% wrong: divided by the number of all entries | inp.g: wrong-factor or mean-for-sum
import torch


def nll_grad(inp, targ):
    inp.g = torch.zeros_like(inp)
    inp.g[torch.arange(len(targ)), targ] = -1 / inp.numel()


# %% wrong: divided by the number of classes | inp.g: wrong-factor
import torch


def nll_grad(inp, targ):
    inp.g = -torch.nn.functional.one_hot(targ, inp.shape[1]).float() / inp.shape[1]


# %% wrong: classes counted from 1 | inp.g: wrong-operand
import torch


def nll_grad(inp, targ):
    # classes counted from 1
    inp.g = torch.zeros_like(inp)
    inp.g[torch.arange(len(targ)), targ - 1] = -1 / len(targ)


# %% wrong: every entry but the target's | inp.g: inverted-mask
import torch


def nll_grad(inp, targ):
    inp.g = torch.full_like(inp, -1 / len(targ))
    inp.g[range(len(targ)), targ] = 0


# %% wrong: divided by inp, as if a logarithm were still to come | inp.g: extra-factor or wrong-local
import torch


def nll_grad(inp, targ):
    hot = torch.nn.functional.one_hot(targ, inp.shape[-1])
    inp.g = -hot / inp / len(targ)


# %% wrong: the gradient of cross-entropy | inp.g: wrong-local
def nll_grad(inp, targ):
    g = inp.softmax(-1)
    g[range(len(targ)), targ] -= 1
    inp.g = g / len(targ)


# %% wrong: every entry instead of the target's | inp.g: wrong-local
import torch


def nll_grad(inp, targ):
    inp.g = -torch.ones_like(inp) / len(targ)


# %% wrong: multiplied by the probability at the target | inp.g: extra-factor or wrong-local
import torch


def nll_grad(inp, targ):
    rows = torch.arange(len(targ))
    inp.g = torch.zeros_like(inp)
    inp.g[rows, targ] = -inp[rows, targ].exp() / len(targ)


# %% wrong: divided by the probability | inp.g: extra-factor or wrong-local
import torch


def nll_grad(inp, targ):
    hot = torch.nn.functional.one_hot(targ, inp.shape[-1])
    inp.g = -hot / inp.exp() / len(targ)


# %% wrong: multiplied by the entry at the target | inp.g: wrong-local or wrong-operand or forward-value or extra-factor
import torch


def nll_grad(inp, targ):
    rows = torch.arange(len(targ))
    inp.g = torch.zeros_like(inp)
    inp.g[rows, targ] = -inp[rows, targ] / len(targ)


# %% wrong: rows and columns exchanged in the index | inp.g: error or transposed
import torch


def nll_grad(inp, targ):
    inp.g = torch.zeros_like(inp)
    inp.g[targ, torch.arange(len(targ))] = -1 / len(targ)


# %% wrong: the loss itself | inp.g: wrong-shape or forward-value
def nll_grad(inp, targ):
    inp.g = -inp[range(len(targ)), targ].mean()


# %% wrong: one number for each row | inp.g: wrong-shape or summed-wrong-axis
import torch


def nll_grad(inp, targ):
    inp.g = -torch.ones(len(targ)) / len(targ)


# %% wrong: always ten classes | inp.g: wrong-shape or hard-coded
import torch


def nll_grad(inp, targ):
    inp.g = torch.zeros(len(targ), 10)
    inp.g[range(len(targ)), targ] = -1 / len(targ)


# %% wrong: integers, not divided by the batch size | inp.g: wrong-dtype
import torch


def nll_grad(inp, targ):
    inp.g = -torch.nn.functional.one_hot(targ, inp.shape[1])


# %% wrong: inp overwritten in place | inp.g: mutated-input
def nll_grad(inp, targ):
    inp.g = inp
    inp.g.zero_()
    inp.g[range(len(targ)), targ] = -1 / len(targ)


# %% wrong: the place of the right class found by its value | inp.g: wrong-local
def nll_grad(inp, targ):
    chosen = inp.gather(1, targ.unsqueeze(1))
    inp.g = -(inp == chosen).float() / len(inp)

# mend_cross_entropy: loss = -inp.log_softmax(-1)[range(bs), targ].mean()

# %% right: divided by the rows
def mend_cross_entropy(inp, targ):
    inp.g = inp.softmax(-1)
    inp.g[range(len(targ)), targ] -= 1
    inp.g /= len(targ)


# %% right: divided by shape[0], and one_hot
import torch


def mend_cross_entropy(inp, targ):
    truth = torch.nn.functional.one_hot(targ, inp.shape[1])
    inp.g = (inp.softmax(1) - truth) / inp.shape[0]


# %% right: each row in a loop
import torch


def mend_cross_entropy(inp, targ):
    inp.g = torch.zeros_like(inp)
    for i, c in enumerate(targ.tolist()):
        inp.g[i] = inp[i].softmax(0)
        inp.g[i, c] -= 1
        inp.g[i] /= len(targ)


# %% right: scatter
import torch


def mend_cross_entropy(inp, targ):
    inp.g = inp.softmax(-1)
    inp.g.scatter_add_(1, targ[:, None], -torch.ones(len(targ), 1))
    inp.g /= len(targ)


# %% wrong: as it was found | *: todo
def mend_cross_entropy(inp, targ):
    inp.g = inp.softmax(-1)
    inp.g[range(len(targ)), targ] -= 1
    inp.g /= inp.shape[1]


# %% wrong: as it was found, in other words | *: wrong-factor or sum-for-mean or mean-for-sum or summed-wrong-axis or wrong-operand
def mend_cross_entropy(inp, targ):
    inp.g = inp.softmax(-1)
    inp.g[range(len(targ)), targ] -= 1
    inp.g = inp.g / inp.size(1)


# %% wrong: not divided at all | *: sum-for-mean
def mend_cross_entropy(inp, targ):
    inp.g = inp.softmax(-1)
    inp.g[range(len(targ)), targ] -= 1


# %% wrong: divided by all entries | *: extra-factor or mean-for-sum or wrong-factor
def mend_cross_entropy(inp, targ):
    inp.g = inp.softmax(-1)
    inp.g[range(len(targ)), targ] -= 1
    inp.g /= inp.numel()


# %% wrong: divided by both | *: extra-factor or mean-for-sum or wrong-factor
def mend_cross_entropy(inp, targ):
    inp.g = inp.softmax(-1)
    inp.g[range(len(targ)), targ] -= 1
    inp.g /= inp.shape[1]
    inp.g /= len(targ)


# %% wrong: multiplied by the rows | *: wrong-factor or extra-factor or sum-for-mean
def mend_cross_entropy(inp, targ):
    inp.g = inp.softmax(-1)
    inp.g[range(len(targ)), targ] -= 1
    inp.g *= len(targ)


# %% wrong: softmax over the batch | *: wrong-local or summed-wrong-axis
def mend_cross_entropy(inp, targ):
    inp.g = inp.softmax(0)
    inp.g[range(len(targ)), targ] -= 1
    inp.g /= len(targ)


# %% wrong: the 1 is added | *: wrong-sign or missing-path or wrong-local
def mend_cross_entropy(inp, targ):
    inp.g = inp.softmax(-1)
    inp.g[range(len(targ)), targ] += 1
    inp.g /= len(targ)


# %% wrong: the truth is forgotten | *: missing-path
def mend_cross_entropy(inp, targ):
    inp.g = inp.softmax(-1)
    inp.g /= len(targ)


# %% wrong: a whole column loses 1 | *: wrong-local or wrong-operand or unknown or broadcast-accident
def mend_cross_entropy(inp, targ):
    inp.g = inp.softmax(-1)
    inp.g[:, targ] -= 1
    inp.g /= len(targ)


# %% wrong: the wrong sign everywhere | *: wrong-sign
def mend_cross_entropy(inp, targ):
    inp.g = inp.softmax(-1)
    inp.g[range(len(targ)), targ] -= 1
    inp.g /= -len(targ)


# %% wrong: 1 is taken off after the division | *: missing-local or sum-for-mean or wrong-factor or missing-path
def mend_cross_entropy(inp, targ):
    inp.g = inp.softmax(-1)
    inp.g /= len(targ)
    inp.g[range(len(targ)), targ] -= 1


# %% wrong: not begun | *: todo
def mend_cross_entropy(inp, targ):
    inp.g = ...


# %% wrong: the right class found by its score | inp.g: wrong-local
def mend_cross_entropy(inp, targ):
    hot = (inp == inp.gather(1, targ.unsqueeze(1))).float()
    inp.g = (inp.softmax(-1) - hot) / len(inp)

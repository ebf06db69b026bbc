# hinge_grad: loss = (1 - targ * inp).clamp_min(0).mean()

# %% right: each of the two classes by itself
import torch


def hinge_grad(inp, targ):
    g = torch.zeros(len(inp))
    g[(targ == 1) & (inp < 1)] = -1
    g[(targ == -1) & (inp > -1)] = 1
    inp.g = g / len(g)


# %% right: half at the kink, in-place operations
import torch


def hinge_grad(inp, targ):
    inp.g = torch.heaviside(1 - inp * targ, torch.tensor(0.5)).mul_(targ).neg_().div_(inp.numel())


# %% right: kink included
import torch


def hinge_grad(inp, targ):
    inp.g = torch.where(targ * inp <= 1, -targ, torch.zeros(1)) / len(targ)


# %% right: a comprehension over floats, of the dtype of inp
import torch


def hinge_grad(inp, targ):
    slopes = [-t / len(targ) if t * s < 1 else 0.0 for s, t in zip(inp.tolist(), targ.tolist(), strict=True)]
    inp.g = torch.tensor(slopes, dtype=inp.dtype)


# %% wrong: mask missing | inp.g: missing-local
def hinge_grad(inp, targ):
    inp.g = -targ / len(targ)


# %% wrong: target missing from the local derivative | inp.g: missing-local
def hinge_grad(inp, targ):
    inp.g = -(targ * inp < 1).float() / len(inp)


# %% wrong: multiplied by inp | inp.g: extra-factor or wrong-operand
def hinge_grad(inp, targ):
    inp.g = -targ * inp * (targ * inp < 1) / len(inp)


# %% wrong: not divided by the batch size | inp.g: sum-for-mean
def hinge_grad(inp, targ):
    inp.g = -targ * (1 - targ * inp > 0)


# %% wrong: minus sign missing | inp.g: wrong-sign
def hinge_grad(inp, targ):
    inp.g = targ * (targ * inp < 1).float() / len(inp)


# %% wrong: divided by the number of active examples, at least 1 | inp.g: wrong-factor or wrong-local
def hinge_grad(inp, targ):
    active = (targ * inp < 1).float()
    inp.g = -targ * active / active.sum().clamp_min(1)


# %% wrong: doubled | inp.g: wrong-factor
def hinge_grad(inp, targ):
    inp.g = -2 * targ * (targ * inp < 1) / len(inp)


# %% wrong: margin of 0 | inp.g: wrong-point
def hinge_grad(inp, targ):
    inp.g = -targ * (targ * inp < 0) / len(inp)


# %% wrong: target missing from the mask | inp.g: wrong-point
def hinge_grad(inp, targ):
    inp.g = -targ * (inp < 1) / len(inp)


# %% wrong: mask of positive scores | inp.g: wrong-point
def hinge_grad(inp, targ):
    inp.g = -targ * (inp > 0) / len(inp)


# %% wrong: inp in place of the target | inp.g: wrong-operand
def hinge_grad(inp, targ):
    inp.g = -inp * (targ * inp < 1) / len(inp)


# %% wrong: the loss of each example | inp.g: forward-value or unknown
def hinge_grad(inp, targ):
    inp.g = (1 - targ * inp).clamp_min(0) / len(inp)


# %% wrong: mask the wrong way round | inp.g: inverted-mask
def hinge_grad(inp, targ):
    inp.g = -targ * (targ * inp > 1) / len(inp)


# %% wrong: margin of the absolute score | inp.g: wrong-local or wrong-point
def hinge_grad(inp, targ):
    inp.g = -targ * (inp.abs() < 1) / len(inp)


# %% wrong: margin of 2 | inp.g: wrong-local or missing-local
def hinge_grad(inp, targ):
    inp.g = -targ * (targ * inp < 2) / len(inp)


# %% wrong: slack in place of the mask | inp.g: wrong-local
def hinge_grad(inp, targ):
    slack = (1 - targ * inp).clamp_min(0)
    inp.g = -targ * slack / len(inp)


# %% wrong: the squared hinge loss differentiated | inp.g: wrong-local or extra-factor
def hinge_grad(inp, targ):
    slack = (1 - targ * inp).clamp_min(0)
    inp.g = -2 * targ * slack / len(inp)


# %% wrong: misjudged examples marked, without target or sign | inp.g: unknown or wrong-point
def hinge_grad(inp, targ):
    inp.g = (targ * inp < 0).float() / len(inp)


# %% wrong: if on a tensor of several entries | inp.g: error
def hinge_grad(inp, targ):
    if targ * inp < 1:
        inp.g = -targ / len(inp)
    else:
        inp.g = 0 * inp


# %% wrong: divided by the number of active examples, which may be 0 | inp.g: not-finite or wrong-factor
def hinge_grad(inp, targ):
    active = (targ * inp < 1).float()
    inp.g = -targ * active / active.sum()


# %% wrong: where the margin is exactly 1 the gradient comes twice | inp.g: wrong-local
def hinge_grad(inp, targ):
    margin = targ * inp
    inp.g = -targ * ((margin < 1).float() + 2 * (margin == 1)) / len(inp)


# %% wrong: nothing for a score of 0, where sign is no class | inp.g: wrong-local
def hinge_grad(inp, targ):
    inp.g = -targ * (targ * inp < 1) * inp.sign().abs() / len(inp)

# straight_through_grad: out = inp.sign(), with the gradient of inp.clamp(-1, 1)

# %% right: two comparisons
def straight_through_grad(inp, out):
    inp.g = out.g * (inp > -1) * (inp < 1)


# %% right: where
import torch


def straight_through_grad(inp, out):
    inp.g = torch.where(inp.abs() <= 1, out.g, torch.zeros_like(out.g))


# %% right: zeros put in, in a copy
def straight_through_grad(inp, out):
    g = out.g.clone()
    g[(inp < -1) | (inp > 1)] = 0.0
    inp.g = g


# %% right: from out and inp
def straight_through_grad(inp, out):
    inp.g = out.g * (inp * out).lt(1).to(out.g.dtype)


# %% wrong: the real derivative | inp.g: wrong-local or hard-coded
import torch


def straight_through_grad(inp, out):
    inp.g = torch.zeros_like(inp)


# %% wrong: everywhere | inp.g: missing-local
def straight_through_grad(inp, out):
    inp.g = out.g.clone()


# %% wrong: mask inverted | inp.g: inverted-mask
def straight_through_grad(inp, out):
    inp.g = out.g * (inp.abs() > 1)


# %% wrong: as behind a relu | inp.g: wrong-local
def straight_through_grad(inp, out):
    inp.g = out.g * (inp > 0)


# %% wrong: only the upper side | inp.g: wrong-local
def straight_through_grad(inp, out):
    inp.g = out.g * (inp <= 1)


# %% wrong: only the lower side | inp.g: wrong-local
def straight_through_grad(inp, out):
    inp.g = out.g * (inp >= -1)


# %% wrong: out.g looked at | inp.g: wrong-operand or wrong-point
def straight_through_grad(inp, out):
    inp.g = out.g * (out.g.abs() <= 1)


# %% wrong: out.g clamped | inp.g: not-linear or wrong-local
def straight_through_grad(inp, out):
    inp.g = out.g.clamp(-1, 1)


# %% wrong: the clamp itself | inp.g: wrong-local
def straight_through_grad(inp, out):
    inp.g = out.g * inp.clamp(-1, 1)


# %% wrong: tanh's derivative | inp.g: wrong-local
def straight_through_grad(inp, out):
    inp.g = out.g * (1 - inp.tanh() ** 2)


# %% wrong: times the sign | inp.g: extra-factor or wrong-local
def straight_through_grad(inp, out):
    inp.g = out.g * out * (inp.abs() < 1)


# %% wrong: upstream missing | inp.g: missing-upstream
def straight_through_grad(inp, out):
    inp.g = (inp.abs() < 1).float()


# %% wrong: out looked at in place of inp | inp.g: missing-local or wrong-operand
def straight_through_grad(inp, out):
    inp.g = out.g * (out.abs() <= 1)


# %% wrong: half as wide | inp.g: wrong-local or hard-coded or unknown
def straight_through_grad(inp, out):
    inp.g = out.g * (inp.abs() < 0.5)


# %% wrong: negated | inp.g: wrong-sign
def straight_through_grad(inp, out):
    inp.g = -out.g * (inp.abs() < 1)


# %% wrong: sign of the upstream | inp.g: not-linear or wrong-local
def straight_through_grad(inp, out):
    inp.g = out.g.sign() * (inp.abs() < 1)


# %% wrong: a triangle in place of the clamp | inp.g: wrong-local
def straight_through_grad(inp, out):
    inp.g = out.g * (1 - inp.abs()).clamp(min=0)


# %% wrong: the sigmoid's derivative | inp.g: wrong-local
def straight_through_grad(inp, out):
    s = inp.sigmoid()
    inp.g = out.g * s * (1 - s)


# %% wrong: halved | inp.g: wrong-factor
def straight_through_grad(inp, out):
    inp.g = 0.5 * out.g * (inp.abs() < 1)


# %% wrong: the gradient twice where inp is exactly at a bound | inp.g: wrong-local
def straight_through_grad(inp, out):
    size = inp.abs()
    inp.g = out.g * ((size < 1).float() + 2 * (size == 1))

# maximum_grad: out = a.maximum(b)

# %% right: where
import torch


def maximum_grad(a, b, out):
    zero = torch.zeros_like(out)
    a.g = torch.where(a >= b, out.g, zero)
    b.g = torch.where(a >= b, zero, out.g)


# %% right: equal to out
def maximum_grad(a, b, out):
    a.g = out.g * (a == out).float()
    b.g = out.g - a.g


# %% right: indices of the winner, stacked
import torch


def maximum_grad(a, b, out):
    hot = torch.stack((a, b)).argmax(0)
    a.g, b.g = (out.g * (hot == i) for i in (0, 1))


# %% wrong: masks exchanged | a.g, b.g: inverted-mask
def maximum_grad(a, b, out):
    a.g = out.g * (a < b)
    b.g = out.g * (a > b)


# %% wrong: everything to both | a.g, b.g: missing-local
def maximum_grad(a, b, out):
    a.g = out.g.clone()
    b.g = out.g.clone()


# %% wrong: half to each | a.g, b.g: wrong-local or wrong-factor or unknown or missing-local or wrong-operand or wrong-point
def maximum_grad(a, b, out):
    a.g = out.g / 2
    b.g = out.g / 2


# %% wrong: compared with 0, as in relu | a.g, b.g: wrong-point or hard-coded or wrong-local or wrong-operand or unknown
def maximum_grad(a, b, out):
    a.g = out.g * (a > 0)
    b.g = out.g * (b > 0)


# %% wrong: upstream gradient missing | a.g, b.g: missing-upstream
def maximum_grad(a, b, out):
    a.g = (a > b).float()
    b.g = (b >= a).float()


# %% wrong: a gets all, b nothing | a.g: missing-local or wrong-local; b.g: hard-coded or missing-path or wrong-local
import torch


def maximum_grad(a, b, out):
    a.g = out.g.clone()
    b.g = torch.zeros_like(b)


# %% wrong: b forgotten | b.g: todo or missing-answer
def maximum_grad(a, b, out):
    a.g = out.g * (a > b)


# %% wrong: the values, not the gradient | a.g, b.g: value-for-gradient
def maximum_grad(a, b, out):
    a.g = out * (a > b)
    b.g = out * (b >= a)


# %% wrong: a multiplied by its value | a.g: extra-factor or wrong-operand
def maximum_grad(a, b, out):
    a.g = out.g * a * (a > b)
    b.g = out.g * (b >= a)


# %% wrong: the larger in size | a.g, b.g: wrong-point or wrong-local or unknown or hard-coded
def maximum_grad(a, b, out):
    a.g = out.g * (a.abs() > b.abs())
    b.g = out.g * (b.abs() >= a.abs())


# %% wrong: b with the sign turned round | b.g: wrong-sign
def maximum_grad(a, b, out):
    a.g = out.g * (a > b)
    b.g = -out.g * (b >= a)


# %% wrong: same mask for both | b.g: inverted-mask
def maximum_grad(a, b, out):
    a.g = out.g * (a > b)
    b.g = out.g * (a > b)


# %% wrong: the larger of the two gradients | a.g, b.g: wrong-local or not-linear or missing-upstream or unknown or inverted-mask
import torch


def maximum_grad(a, b, out):
    g = out.g.maximum(torch.zeros_like(out))
    a.g = g * (a > b)
    b.g = g * (b >= a)


# %% wrong: a shared buffer | *: mutated-input
def maximum_grad(a, b, out):
    g = out.g
    b.g = g * (b >= a)
    g[b >= a] = 0
    a.g = g


# %% wrong: all of the gradient to both where they are equal | b.g: wrong-local
def maximum_grad(a, b, out):
    a.g = out.g * (a >= b)
    b.g = out.g * (b >= a)


# %% wrong: none of the gradient to either where they are equal | b.g: wrong-local
def maximum_grad(a, b, out):
    a.g = out.g * (a > b)
    b.g = out.g * (b > a)


# %% wrong: both equal out where they are equal | b.g: wrong-local
def maximum_grad(a, b, out):
    a.g, b.g = ((x == out) * out.g for x in (a, b))

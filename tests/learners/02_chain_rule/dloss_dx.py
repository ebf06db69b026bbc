# dloss_dx: y = x + 2, out = (3 * y**2).mean(), loss = (out - target)**2

# %% right: computed in float64, rounded at the end
def dloss_dx(x, target):
    y = x.double() + 2
    out = (3 * y ** 2).mean()
    g = 2 * (out - target) * (6 * y) / y.numel()
    return g.to(x.dtype)


# %% right: the square multiplied out, a constant in the file
THREE = 3.0


def dloss_dx(x, target):
    out = THREE * (x * x + 4 * x + 4).mean()
    return (out - target) * (2 * x + 4) * THREE * 2 / x.nelement()


# %% right: out as the mean of y squared times 3
def dloss_dx(x, target):
    y = x.add(2)
    error = 3 * y.square().mean() - target
    return error * 12 * y / x.numel()


# %% right: in-place operations on a copy
def dloss_dx(x, target):
    y = x + 2
    g = y.clone()
    g.mul_(12).div_(g.numel()).mul_((3 * y.square()).mean() - target)
    return g


# %% right: out as a plain float, an extra keyword argument
def dloss_dx(x, target, *, verbose=False):
    y = x + 2
    out = (3 * y * y).mean().item()
    dloss_dout = 2 * (out - target)
    if verbose:
        print(dloss_dout)
    return dloss_dout * (6 * y / y.numel())


# %% right: backwards step by step, by the name of each variable
def dloss_dx(x, target):
    y = x + 2
    z = 3 * y * y
    out = z.mean()
    d_out = 2 * (out - target)
    d_z = d_out.expand_as(z) / z.numel()
    d_y = d_z * 6 * y
    return d_y


# %% wrong: stopped at out, the loss left out | return: missing-upstream
def dloss_dx(x, target):
    y = x + 2
    return 6 * y / y.numel()


# %% wrong: y missing from the local derivative of the square | return: missing-local
import torch


def dloss_dx(x, target):
    y = x + 2
    out = (3 * y**2).mean()
    return 2 * (out - target) * 6 / x.numel() * torch.ones_like(x)


# %% wrong: 2 from the squared error missing | return: missing-local
def dloss_dx(x, target):
    y = x + 2
    out = (3 * y * y).mean()
    return (out - target) * 6 * y / y.numel()


# %% wrong: only the derivative of the squared error | return: missing-local
import torch


def dloss_dx(x, target):
    y = x + 2
    out = (3 * y**2).mean()
    return 2 * (out - target) * torch.ones_like(x)


# %% wrong: target divided by the count, instead of the gradient | return: sum-for-mean
def dloss_dx(x, target):
    y = x + 2
    out = (3 * y**2).mean()
    return 2 * (out - target / x.numel()) * 6 * y


# %% wrong: the mean not differentiated | return: sum-for-mean
def dloss_dx(x, target):
    y = x + 2
    z = 3 * y * y
    dloss = 2 * (z.mean() - target)
    return dloss * 6 * y


# %% wrong: error with the sign turned round | return: wrong-sign
def dloss_dx(x, target):
    y = x + 2
    out = (3 * y * y).mean()
    return 2 * (target - out) * 6 * y / x.numel()


# %% wrong: sum in place of the mean in out | return: wrong-point or sum-for-mean
def dloss_dx(x, target):
    y = x + 2
    out = (3 * y**2).sum()
    return 2 * (out - target) * 6 * y / x.numel()


# %% wrong: 3 missing from out | return: wrong-point or missing-local
def dloss_dx(x, target):
    y = x + 2
    out = (y**2).mean()
    return 2 * (out - target) * 6 * y / x.numel()


# %% wrong: error taken entry by entry, before the mean | return: wrong-point or wrong-operand
def dloss_dx(x, target):
    y = x + 2
    z = 3 * y**2
    return 2 * (z - target) * 6 * y / x.numel()


# %% wrong: local derivative of the square taken at x instead of y | return: wrong-point
def dloss_dx(x, target):
    out = (3 * (x + 2) ** 2).mean()
    return 2 * (out - target) * 6 * x / x.numel()


# %% wrong: target not subtracted from out | return: wrong-point or missing-local
def dloss_dx(x, target):
    y = x + 2
    out = (3 * y**2).mean()
    return 2 * out * 6 * y / x.numel()


# %% wrong: target subtracted from x instead of out | return: wrong-operand or wrong-point
def dloss_dx(x, target):
    return 2 * (x - target) * 6 * (x + 2) / x.numel()


# %% wrong: divided by 4, whatever the shape | return: hard-coded
def dloss_dx(x, target):
    y = x + 2
    out = (3 * y**2).mean()
    dz = 2 * (out - target) / 4
    return dz * 6 * y


# %% wrong: error squared instead of doubled | return: wrong-local or extra-factor
def dloss_dx(x, target):
    y = x + 2
    out = (3 * y**2).mean()
    return (out - target) ** 2 * 6 * y / x.numel()


# %% wrong: target missing from the arguments | return: error
def dloss_dx(x):
    y = x + 2
    out = (3 * y * y).mean()
    return 2 * out * 6 * y / y.numel()


# %% wrong: item() called on target, which is a float | return: error
def dloss_dx(x, target):
    y = x + 2
    out = (3 * y * y).mean()
    diff = out - target.item()
    return 2 * diff * 6 * y / y.numel()

# max_grad: out = inp.max(dim).values

# %% right: a loop over the groups
import torch


def max_grad(inp, out, dim):
    groups = inp.movedim(dim, -1)
    flat = groups.reshape(-1, groups.shape[-1])
    g = torch.zeros(flat.shape)
    for i, (row, up) in enumerate(zip(flat, out.g.reshape(-1))):
        g[i, row.tolist().index(max(row.tolist()))] = up
    inp.g = g.reshape(groups.shape).movedim(-1, dim)


# %% right: one-hot of the position
import torch


def max_grad(inp, out, dim):
    n = inp.shape[dim]
    onehot = torch.nn.functional.one_hot(inp.argmax(dim), n).movedim(-1, dim)
    inp.g = onehot.float() * out.g.unsqueeze(dim)


# %% right: scatter at the position
import torch


def max_grad(inp, out, dim):
    best = inp.argmax(dim, keepdim=True)
    inp.g = torch.zeros_like(inp).scatter(dim, best, out.g.unsqueeze(dim))


# %% right: shared among equal entries
def max_grad(inp, out, dim):
    mask = (inp == out.unsqueeze(dim)).float()
    inp.g = mask / mask.sum(dim, keepdim=True) * out.g.unsqueeze(dim)


# %% wrong: all of the gradient to each of several equal entries | inp.g: wrong-local
import torch


def max_grad(inp, out, dim):
    g, top = out.g.unsqueeze(dim), out.unsqueeze(dim)
    inp.g = torch.where(inp >= top, g, torch.tensor(0.0))


# %% wrong: upstream gradient missing | inp.g: missing-upstream
def max_grad(inp, out, dim):
    inp.g = (inp == out.unsqueeze(dim)).float()


# %% wrong: mask missing | inp.g: missing-local
def max_grad(inp, out, dim):
    inp.g = out.g.unsqueeze(dim).expand_as(inp)


# %% wrong: multiplied by the largest entry | inp.g: extra-factor
def max_grad(inp, out, dim):
    top = inp == out.unsqueeze(dim)
    inp.g = inp * top * out.g.unsqueeze(dim)


# %% wrong: divided by the size of the axis | inp.g: mean-for-sum
def max_grad(inp, out, dim):
    mask = inp == out.unsqueeze(dim)
    inp.g = mask * out.g.unsqueeze(dim) / inp.shape[dim]


# %% wrong: always along the last axis | inp.g: summed-wrong-axis or hard-coded
def max_grad(inp, out, dim):
    top = inp == inp.amax(-1, keepdim=True)
    inp.g = top * out.g.unsqueeze(dim)


# %% wrong: an extra minus sign | inp.g: wrong-sign
def max_grad(inp, out, dim):
    inp.g = -(inp == out.unsqueeze(dim)).float() * out.g.unsqueeze(dim)


# %% wrong: mask of the largest of all entries | inp.g: wrong-operand or summed-wrong-axis
def max_grad(inp, out, dim):
    inp.g = (inp == inp.max()) * out.g.unsqueeze(dim)


# %% wrong: out used in place of out.g | inp.g: value-for-gradient or forward-value
def max_grad(inp, out, dim):
    inp.g = inp * (inp == out.unsqueeze(dim))


# %% wrong: mask the wrong way round | inp.g: inverted-mask
def max_grad(inp, out, dim):
    inp.g = (inp < out.unsqueeze(dim)) * out.g.unsqueeze(dim)


# %% wrong: a case for each axis, none for a negative dim | inp.g: hard-coded
import torch


def max_grad(inp, out, dim):
    i = inp.argmax(dim)
    inp.g = torch.zeros_like(inp)
    if dim == 0:
        inp.g[i, torch.arange(inp.shape[1])[:, None], torch.arange(inp.shape[2])] = out.g
    elif dim == 1:
        inp.g[torch.arange(inp.shape[0])[:, None], i, torch.arange(inp.shape[2])] = out.g
    elif dim == 2:
        inp.g[torch.arange(inp.shape[0])[:, None], torch.arange(inp.shape[1]), i] = out.g


# %% wrong: mask of the entries above the mean | inp.g: wrong-local
def max_grad(inp, out, dim):
    mask = inp > inp.mean(dim, keepdim=True)
    inp.g = mask * out.g.unsqueeze(dim)


# %% wrong: the gradient of a mean | inp.g: wrong-local or missing-local
def max_grad(inp, out, dim):
    inp.g = out.g.unsqueeze(dim).expand_as(inp) / inp.shape[dim]


# %% wrong: mask along another axis | inp.g: wrong-local or summed-wrong-axis
def max_grad(inp, out, dim):
    other = (dim + 1) % inp.dim()
    mask = inp == inp.amax(other, keepdim=True)
    inp.g = mask * out.g.unsqueeze(dim)


# %% wrong: mask of the smallest entry | inp.g: wrong-local or inverted-mask
def max_grad(inp, out, dim):
    smallest = inp.min(dim, keepdim=True).values
    inp.g = (inp == smallest) * out.g.unsqueeze(dim)


# %% wrong: always along the first axis | inp.g: error or summed-wrong-axis or hard-coded
def max_grad(inp, out, dim):
    top = inp == inp.amax(0, keepdim=True)
    inp.g = top * out.g.unsqueeze(0)


# %% wrong: neither out nor out.g with the axis put back | inp.g: error
def max_grad(inp, out, dim):
    inp.g = (inp == out) * out.g


# %% wrong: position in place of the mask | inp.g: error or wrong-shape or wrong-dtype
def max_grad(inp, out, dim):
    inp.g = inp.argmax(dim) * out.g


# %% wrong: the mask itself, as booleans | inp.g: wrong-dtype
def max_grad(inp, out, dim):
    inp.g = inp == out.unsqueeze(dim)


# %% wrong: none of the gradient where the largest entry is there twice | inp.g: wrong-local
def max_grad(inp, out, dim):
    top = (inp == out.unsqueeze(dim)).float()
    alone = top.sum(dim, keepdim=True) == 1
    inp.g = top * alone * out.g.unsqueeze(dim)


# %% wrong: the largest entry found in all of inp by its value | inp.g: wrong-local
def max_grad(inp, out, dim):
    top = inp.amax(dim, keepdim=True)
    inp.g = (inp - top == 0) * out.g.unsqueeze(dim)


# %% wrong: the last of several largest entries as far as a sort tells, and the first as well | inp.g: wrong-local
def max_grad(inp, out, dim):
    second = inp.sort(dim).values.narrow(dim, -2 % inp.shape[dim], 1) if inp.shape[dim] > 1 else inp - 1
    inp.g = (inp > second) * out.g.unsqueeze(dim)

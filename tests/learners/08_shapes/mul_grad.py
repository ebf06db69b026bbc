# mul_grad: out = a * b, with broadcasting

# %% right: a loop over both, in float64
def mul_grad(a, b, out):
    for t, other in ((a, b), (b, a)):
        g = (out.g.double() * other.double())
        lead = g.ndim - t.ndim
        g = g.sum(tuple(range(lead))) if lead else g
        keep = tuple(i for i in range(t.ndim) if t.shape[i] == 1 and g.shape[i] > 1)
        t.g = (g.sum(keep, True) if keep else g).to(t.dtype)


# %% right: both expanded first
import torch


def mul_grad(a, b, out):
    wide_a, wide_b = torch.broadcast_tensors(a, b)
    for narrow, partner in ((a, wide_b), (b, wide_a)):
        g = partner * out.g
        padded = (1,) * (g.dim() - narrow.dim()) + tuple(narrow.shape)
        for axis, size in enumerate(padded):
            if size == 1:
                g = g.sum(axis, keepdim=True)
        narrow.g = g.view(narrow.shape)


# %% right: scatter_add into the place of each entry
import torch


def mul_grad(a, b, out):
    def collected(t, partner):
        places = torch.arange(t.numel()).view(t.shape).expand_as(out).reshape(-1)
        terms = (out.g * partner).reshape(-1)
        return torch.zeros(t.numel()).scatter_add_(0, places, terms).view_as(t)

    a.g = collected(a, b)
    b.g = collected(b, a)


# %% right: the helper unbroadcast
def unbroadcast(g, t):
    for _ in range(g.dim() - t.dim()):
        g = g.sum(0)
    for axis, size in enumerate(t.shape):
        if size == 1:
            g = g.sum(axis, keepdim=True)
    return g


def mul_grad(a, b, out):
    a.g, b.g = unbroadcast(out.g * b, a), unbroadcast(a * out.g, b)


# %% wrong: only the first copy in a.g | a.g: partial-batch
def mul_grad(a, b, out):
    g = out.g * b
    while g.dim() > a.dim():
        g = g[0]
    for i, s in enumerate(a.shape):
        if s == 1:
            g = g.narrow(i, 0, 1)
    a.g = g
    b.g = (out.g * a).sum_to_size(b.shape)


# %% wrong: copies averaged instead of summed in a.g | a.g: mean-for-sum
def mul_grad(a, b, out):
    a.g = (out.g * b).sum_to_size(a.shape) * a.numel() / out.numel()
    b.g = (out.g * a).sum_to_size(b.shape)


# %% wrong: both factors summed before they are multiplied in a.g | a.g: sum-of-products or wrong-shape
def mul_grad(a, b, out):
    a.g = out.g.sum_to_size(a.shape) * (b + 0 * out).sum_to_size(a.shape)
    b.g = (out.g * a).sum_to_size(b.shape)


# %% wrong: multiplied by itself instead of the other in a.g | a.g: wrong-operand
def mul_grad(a, b, out):
    a.g = (out.g * a).sum_to_size(a.shape)
    b.g = (out.g * a).sum_to_size(b.shape)


# %% wrong: divided by the other in a.g | a.g: wrong-local
def mul_grad(a, b, out):
    a.g = (out.g / b).sum_to_size(a.shape)
    b.g = (out.g * a).sum_to_size(b.shape)


# %% wrong: minus sign in b.g | b.g: wrong-sign
def mul_grad(a, b, out):
    a.g = (out.g * b).sum_to_size(a.shape)
    b.g = (out.g * -a).sum_to_size(b.shape)


# %% wrong: b used in place of a in b.g | b.g: wrong-operand
def mul_grad(a, b, out):
    a.g = (out.g * b).sum_to_size(a.shape)
    b.g = (out.g * b).sum_to_size(b.shape)


# %% wrong: out in place of the other factor in b.g | b.g: wrong-local or wrong-operand
def mul_grad(a, b, out):
    a.g = (out.g * b).sum_to_size(a.shape)
    b.g = (out.g * out).sum_to_size(b.shape)


# %% wrong: upstream gradient missing | a.g, b.g: missing-upstream
def mul_grad(a, b, out):
    a.g = b.expand(out.shape).sum_to_size(a.shape)
    b.g = a.expand(out.shape).sum_to_size(b.shape)


# %% wrong: the other factor missing in both | a.g, b.g: missing-local
def mul_grad(a, b, out):
    a.g = out.g.sum_to_size(a.shape)
    b.g = out.g.sum_to_size(b.shape)


# %% wrong: not summed at all | a.g, b.g: missing-batch-sum
def mul_grad(a, b, out):
    a.g = out.g * b
    b.g = out.g * a


# %% wrong: always summed over the first axis | a.g: summed-wrong-axis; b.g: missing-batch-sum or summed-wrong-axis
def mul_grad(a, b, out):
    a.g = (out.g * b).sum(0)
    b.g = (out.g * a).sum(0)


# %% wrong: copies averaged instead of summed, in both | a.g, b.g: mean-for-sum
def mul_grad(a, b, out):
    a.g = (out.g * b).sum_to_size(a.shape) * a.numel() / out.numel()
    b.g = (out.g * a).sum_to_size(b.shape) * b.numel() / out.numel()


# %% wrong: out.g summed before it is multiplied, in both | a.g, b.g: sum-of-products
def mul_grad(a, b, out):
    a.g = (out.g.sum_to_size(a.shape) * b).sum_to_size(a.shape)
    b.g = (out.g.sum_to_size(b.shape) * a).sum_to_size(b.shape)


# %% wrong: new axes summed from the back | a.g, b.g: summed-wrong-axis or wrong-shape
def down(g, shape):
    while g.dim() > len(shape):
        g = g.sum(-1)
    for axis, size in enumerate(shape):
        if size == 1:
            g = g.sum(axis, keepdim=True)
    return g


def mul_grad(a, b, out):
    a.g = down(out.g * b, a.shape)
    b.g = down(out.g * a, b.shape)


# %% wrong: multiplied by itself instead of the other, in both | a.g, b.g: wrong-operand
def mul_grad(a, b, out):
    a.g = (out.g * a).sum_to_size(a.shape)
    b.g = (out.g * b).sum_to_size(b.shape)


# %% wrong: out in place of the other factor, in both | a.g, b.g: wrong-operand or wrong-local or value-for-gradient
def mul_grad(a, b, out):
    a.g = (out.g * out).sum_to_size(a.shape)
    b.g = (out.g * out).sum_to_size(b.shape)


# %% wrong: the other factor summed to one number | a.g, b.g: wrong-operand
def mul_grad(a, b, out):
    a.g = out.g.sum_to_size(a.shape) * b.sum()
    b.g = out.g.sum_to_size(b.shape) * a.sum()


# %% wrong: divided by the other, in both | a.g, b.g: wrong-local
def mul_grad(a, b, out):
    a.g = (out.g / b).sum_to_size(a.shape)
    b.g = (out.g / a).sum_to_size(b.shape)


# %% wrong: the other factor added instead of multiplied | a.g, b.g: wrong-local
def mul_grad(a, b, out):
    a.g = (out.g + b).sum_to_size(a.shape)
    b.g = (out.g + a).sum_to_size(b.shape)


# %% wrong: only the first stretched axis summed in a.g | a.g: wrong-shape
def mul_grad(a, b, out):
    def back(g, t):
        while g.dim() > t.dim():
            g = g.sum(0)
        for i, n in enumerate(t.shape):
            if n == 1 and g.shape[i] != 1:
                return g.sum(i, keepdim=True)
        return g

    a.g = back(out.g * b, a)
    b.g = back(out.g * a, b)


# %% wrong: out.g multiplied in place | *: mutated-input
def mul_grad(a, b, out):
    a.g = (out.g.clone() * b).sum_to_size(a.shape)
    out.g *= a
    b.g = out.g.sum_to_size(b.shape)


# %% wrong: the other factor as out over one's own, which may be 0 | a.g, b.g: not-finite
def _summed(g, like):
    while g.dim() > like.dim():
        g = g.sum(0)
    for axis in range(like.dim()):
        if like.shape[axis] == 1:
            g = g.sum(axis, keepdim=True)
    return g


def mul_grad(a, b, out):
    a.g = _summed(out.g * (out / a), a)
    b.g = _summed(out.g * (out / b), b)

# One hundred right answers, written from the stubs alone, before the code that looks for measurements was read.
# Heads: `# %% exercise: in what way`. None of them nudges its arguments; many work beside them, as honest code does.

# %% dout_dx: y and z made again
def dout_dx(x):
    y = x + 2
    z = 3 * y ** 2
    out = z.mean()
    dout_dz = 1 / z.numel()
    dz_dy = 6 * y
    dy_dx = 1
    return dout_dz * dz_dy * dy_dx

# %% dout_dx: entry by entry into a new array
import torch

def dout_dx(x):
    g = torch.zeros_like(x)
    flat, res = x.reshape(-1), g.reshape(-1)
    for i in range(len(flat)):
        res[i] = 6 * (flat[i] + 2) / len(flat)
    return res.reshape(x.shape)

# %% dloss_dx: in float64, and back
def dloss_dx(x, target):
    wide = x.double()
    out = (3 * (wide + 2) ** 2).mean()
    return (2 * (out - target) * 6 * (wide + 2) / x.numel()).to(x.dtype)

# %% dloss_dx: a list of numbers
import torch

def dloss_dx(x, target):
    numbers = x.flatten().tolist()
    n = len(numbers)
    out = sum(3 * (v + 2) ** 2 for v in numbers) / n
    return torch.tensor([2 * (out - target) * 6 * (v + 2) / n for v in numbers], dtype=x.dtype).reshape(x.shape)

# %% dz_dy: added six times
def dz_dy(y):
    total = 0 * y
    for _ in range(6):
        total = total + y
    return total

# %% exp_grad: out made again in numpy
import numpy as np
import torch

def exp_grad(inp, out):
    e = np.exp(inp.numpy().astype(np.float64))
    inp.g = torch.from_numpy(e * out.g.numpy()).to(inp.dtype)

# %% log_grad: a guard in every entry
import torch

def log_grad(inp, out):
    inp.g = torch.empty_like(inp)
    x, g, result = inp.flatten(), out.g.flatten(), []
    for i in range(x.numel()):
        result.append(g[i] / (x[i] + 1e-12))
    inp.g = torch.stack(result).reshape(inp.shape)

# %% log_grad: a guard for the whole array
def log_grad(inp, out):
    safe = inp + 1e-9
    inp.g = out.g * safe.reciprocal()

# %% log_grad: inp from out, which is near it
def log_grad(inp, out):
    back = out.exp()
    inp.g = out.g / back

# %% sqrt_grad: inp from out
def sqrt_grad(inp, out):
    again = out * out
    inp.g = out.g * 0.5 * again ** -0.5

# %% sqrt_grad: a guard in numpy, one place after the other
import numpy as np
import torch

def sqrt_grad(inp, out):
    x = inp.numpy()
    g = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        g[i] = out.g.numpy()[i] / (2 * np.sqrt(x[i] + 1e-12))
    inp.g = torch.tensor(g)

# %% inv_grad: inp from out, rounded
def inv_grad(inp, out):
    x = 1 / out
    inp.g = -out.g / (x * x)

# %% div_grad: a from out and b
def div_grad(a, b, out):
    a.g = out.g / b
    again = out * b
    b.g = -out.g * again / b ** 2

# %% div_grad: signs kept away from zero
import torch

def div_grad(a, b, out):
    guarded = torch.where(b >= 0, b + 1e-12, b - 1e-12)
    a.g = out.g / guarded
    b.g = -out.g * a / guarded.square()

# %% pow_grad: by repeated products
def pow_grad(inp, out, k):
    power = inp ** 0
    for _ in range(k - 1):
        power = power * inp
    inp.g = out.g * k * power

# %% pow_both_grad: logarithms in double precision
def pow_both_grad(a, b, out):
    a64, b64 = a.double(), b.double()
    a.g = (out.g * b64 * (a64.log() * (b64 - 1)).exp()).to(a.dtype)
    b.g = (out.g * (a64.log() * b64).exp() * a64.log()).to(b.dtype)

# %% two_paths_grad: the uses summed in a loop
def two_paths_grad(inp, out):
    parts = [inp.sin(), inp * inp.cos(), inp, inp]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    inp.g = out.g * total

# %% df_dx: filled by rows
import torch

def df_dx(x, w, b):
    jac = torch.zeros(len(b), len(x), dtype=w.dtype)
    for j in range(len(b)):
        for k in range(len(x)):
            jac[j, k] = w[k, j]
    return jac

# %% df_dx: unit vectors go forward
import torch

def df_dx(x, w, b):
    columns = []
    for k in range(len(x)):
        e = torch.zeros_like(x)
        e[k] = 1
        columns.append(e @ w)
    return torch.stack(columns, dim=1)

# %% input_grad: two loops
import torch

def input_grad(x, w, b, df):
    g = torch.zeros_like(x)
    for k in range(w.shape[0]):
        for j in range(w.shape[1]):
            g[k] += w[k, j] * df[j]
    return g

# %% weight_grad: unit vectors
import torch

def weight_grad(x, w, b, df):
    g = torch.zeros_like(w)
    for k in range(len(x)):
        e = torch.zeros_like(x)
        e[k] = 1
        g += e[:, None] * (x @ e) * df
    return g

# %% bias_grad: f made again, for nothing
def bias_grad(x, w, b, df):
    f = x @ w + b
    assert f.shape == df.shape
    return df.clone()

# %% lin_grad: b again from what is left, beside b
def lin_grad(inp, out, w, b):
    rest = out - inp @ w
    assert rest.shape[1] == b.shape[0]
    inp.g = out.g @ w.T
    w.g = inp.T @ out.g
    b.g = out.g.sum(dim=0)

# %% lin_grad: einsum in double precision
import torch

def lin_grad(inp, out, w, b):
    x, v, g = inp.double(), w.double(), out.g.double()
    inp.g = torch.einsum("bm,nm->bn", g, v).float()
    w.g = torch.einsum("bn,bm->nm", x, g).float()
    b.g = torch.einsum("bm->m", g).float()

# %% lin_grad: three loops in numpy
import numpy as np
import torch

def lin_grad(inp, out, w, b):
    x, v, g = inp.numpy(), w.numpy(), out.g.numpy()
    gx, gv, gb = np.zeros(x.shape), np.zeros(v.shape), np.zeros(b.shape)
    for i in range(x.shape[0]):
        for j in range(v.shape[1]):
            gb[j] += g[i, j]
            for k in range(v.shape[0]):
                gx[i, k] += g[i, j] * v[k, j]
                gv[k, j] += g[i, j] * x[i, k]
    inp.g, w.g, b.g = (torch.from_numpy(a).float() for a in (gx, gv, gb))

# %% lin_grad: one example after the other
import torch

def lin_grad(inp, out, w, b):
    inp.g, w.g, b.g = torch.zeros_like(inp), torch.zeros_like(w), torch.zeros_like(b)
    for i, (row, g) in enumerate(zip(inp, out.g)):
        inp.g[i] = w @ g
        w.g += torch.outer(row, g)
        b.g += g

# %% lin_grad: checks out by hand, with a margin
def lin_grad(inp, out, w, b):
    again = inp @ w + b
    if (again - out).abs().max() > 1e-3:
        raise ValueError("this is not out")
    inp.g, w.g, b.g = out.g.mm(w.t()), inp.t().mm(out.g), out.g.sum(0)

# %% lin_grad: the bias as one more row of the weights
import torch

def lin_grad(inp, out, w, b):
    ones = torch.ones(len(inp), 1)
    wide, stacked = torch.cat([inp, ones], 1), torch.cat([w, b[None]], 0)
    gw, gi = wide.T @ out.g, out.g @ stacked.T
    inp.g, w.g, b.g = gi[:, :-1], gw[:-1], gw[-1]

# %% linear_grad: a helper for a product
def _times(left, right):
    return (left.unsqueeze(-1) * right.unsqueeze(-3)).sum(-2)

def linear_grad(inp, out, weight, bias):
    inp.g = _times(out.g, weight)
    weight.g = _times(out.g.T, inp)
    bias.g = out.g.sum(0)

# %% lin_grad_nd: the moments one after the other
import torch

def lin_grad_nd(inp, out, w, b):
    inp.g = torch.empty_like(inp)
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    for i in range(inp.shape[1]):
        inp.g[:, i] = out.g[:, i] @ w.t()
        w.g += inp[:, i].t() @ out.g[:, i]
        b.g += out.g[:, i].sum(0)

# %% lin_grad_accumulate: getattr and a sum
def lin_grad_accumulate(inp, out, w, b):
    for t, g in ((inp, out.g @ w.t()), (w, inp.t() @ out.g), (b, out.g.sum(0))):
        before = getattr(t, "g", None)
        t.g = g if before is None else before + g

# %% lin_grad_needed: a table of functions
def lin_grad_needed(inp, out, w, b, needs):
    rules = {"inp": (inp, lambda: out.g @ w.T), "w": (w, lambda: inp.T @ out.g), "b": (b, lambda: out.g.sum(0))}
    for name in needs:
        tensor, rule = rules[name]
        tensor.g = rule()

# %% bmm_grad: one example after the other
import torch

def bmm_grad(a, b, out):
    a.g = torch.stack([g @ right.T for g, right in zip(out.g, b)])
    b.g = torch.stack([left.T @ g for g, left in zip(out.g, a)])

# %% bmm_grad: einsum in numpy
import numpy as np
import torch

def bmm_grad(a, b, out):
    g = out.g.numpy()
    a.g = torch.from_numpy(np.einsum("bnm,bkm->bnk", g, b.numpy()))
    b.g = torch.from_numpy(np.einsum("bnk,bnm->bkm", a.numpy(), g))

# %% relu_grad: entry by entry
import torch

def relu_grad(inp, out):
    g = out.g.clone()
    flat, x = g.view(-1), inp.reshape(-1)
    for i in range(len(flat)):
        if x[i] <= 0:
            flat[i] = 0
    inp.g = g

# %% sigmoid_grad: made again with a guard
import torch

def sigmoid_grad(inp, out):
    s = 1 / (1 + torch.exp(-inp) + 1e-12)
    inp.g = out.g * s * (1 - s)

# %% tanh_grad: from exponentials, in numpy
import numpy as np
import torch

def tanh_grad(inp, out):
    x = inp.numpy().astype("float64")
    th = (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x))
    inp.g = torch.tensor((1 - th * th) * out.g.numpy(), dtype=inp.dtype)

# %% gelu_grad: math.erf for each number
import math
import torch

def gelu_grad(inp, out):
    values = []
    for x, g in zip(inp.flatten().tolist(), out.g.flatten().tolist()):
        cdf = 0.5 * (1 + math.erf(x / math.sqrt(2)))
        pdf = math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        values.append(g * (cdf + x * pdf))
    inp.g = torch.tensor(values).reshape(inp.shape)

# %% silu_grad: out divided by inp, guarded
import torch

def silu_grad(inp, out):
    s = torch.sigmoid(inp)
    inp.g = out.g * (s + inp * s * (1 - s) + 0 * (out / (inp + 1e-6)))

# %% softplus_grad: from out
import torch

def softplus_grad(inp, out):
    inp.g = out.g * (1 - torch.exp(-out))

# %% leaky_relu_grad: a tensor of slopes, written in place
import torch

def leaky_relu_grad(inp, out, slope):
    slopes = torch.ones_like(inp)
    slopes[inp <= 0] = slope
    inp.g = out.g * slopes

# %% clamp_grad: product of two masks
def clamp_grad(inp, out, lo, hi):
    inside = (inp > lo).to(inp.dtype) * (inp < hi).to(inp.dtype)
    inp.g = inside * out.g

# %% dropout_grad: numpy
import numpy as np
import torch

def dropout_grad(inp, out, mask, p):
    scale = np.divide(mask.numpy(), 1 - p)
    inp.g = torch.from_numpy(np.multiply(out.g.numpy(), scale)).to(inp.dtype)

# %% maximum_grad: from the differences
import torch

def maximum_grad(a, b, out):
    first = (a - b > 0).float() + 0.5 * (a == b).float()
    a.g, b.g = out.g * first, out.g * (1 - first)

# %% mse_grad: one row at a time
import torch

def mse_grad(inp, targ):
    inp.g = torch.zeros_like(inp)
    n = inp.shape[0]
    for i in range(n):
        inp.g[i, 0] = 2 * (inp[i, 0] - targ[i]) / n

# %% mse_grad: numpy, and the loss beside it
import numpy as np
import torch

def mse_grad(inp, targ):
    x, t = inp.numpy().astype(float), targ.numpy().astype(float)
    diff = x[:, 0] - t
    loss = np.mean(diff ** 2)
    assert loss >= 0
    inp.g = torch.tensor(2 * diff[:, None] / diff.size, dtype=inp.dtype)

# %% mse_grad_nd: the difference made twice
def mse_grad_nd(inp, targ):
    first = inp - targ
    second = -(targ - inp)
    inp.g = (first + second) / inp.shape[0] / inp.shape[1]

# %% mse_sum_grad: a loop over columns
import torch

def mse_sum_grad(inp, targ):
    columns = [2 * (inp[:, j] - targ[:, j]) for j in range(inp.shape[1])]
    inp.g = torch.stack(columns, dim=-1)

# %% softmax_grad: a Jacobian for each row
import torch

def softmax_grad(inp, out):
    rows = []
    for p, g in zip(out, out.g):
        jacobian = torch.diag(p) - torch.outer(p, p)
        rows.append(jacobian @ g)
    inp.g = torch.stack(rows)

# %% softmax_grad: (p - unit) for each class
import torch

def softmax_grad(inp, out):
    inp.g = torch.zeros_like(inp)
    for j in range(inp.shape[1]):
        unit = torch.zeros(inp.shape[1])
        unit[j] = 1
        inp.g += (out.g[:, j] * out[:, j])[:, None] * (unit - out)

# %% softmax_grad: shifted by the largest, with a guard
import torch

def softmax_grad(inp, out):
    e = (inp - inp.max(-1, keepdim=True).values).exp()
    p = e / (e.sum(-1, keepdim=True) + 1e-12)
    inp.g = p * (out.g - (p * out.g).sum(-1, keepdim=True))

# %% log_softmax_grad: numpy, row by row
import numpy as np
import torch

def log_softmax_grad(inp, out):
    result = np.empty(inp.shape, dtype=np.float64)
    for r, (x, g) in enumerate(zip(inp.numpy().astype(float), out.g.numpy())):
        p = np.exp(x - x.max())
        p /= p.sum()
        result[r] = g - p * g.sum()
    inp.g = torch.from_numpy(result).to(inp.dtype)

# %% logsumexp_grad: shares from out
def logsumexp_grad(inp, out):
    inp.g = (inp - out[:, None]).exp() * out.g[:, None]

# %% nll_grad: written row by row
import torch

def nll_grad(inp, targ):
    g = torch.zeros(inp.shape)
    for r in range(len(targ)):
        g[r, int(targ[r])] = -1.0 / len(targ)
    inp.g = g

# %% cross_entropy_grad: minus one where it is right, in a loop
def cross_entropy_grad(inp, targ):
    p = inp.softmax(-1)
    for r in range(p.shape[0]):
        p[r, targ[r]] -= 1
    inp.g = p / p.shape[0]

# %% cross_entropy_grad: copies of inp with the right class marked
import torch

def cross_entropy_grad(inp, targ):
    rows = []
    for x, t in zip(inp, targ):
        x = x.clone()
        p = (x - x.logsumexp(0)).exp()
        p[t] -= 1
        rows.append(p / len(inp))
    inp.g = torch.stack(rows)

# %% smooth_cross_entropy_grad: one-hot in numpy
import numpy as np
import torch

def smooth_cross_entropy_grad(inp, targ, eps):
    bs, c = inp.shape
    truth = np.eye(c)[targ.numpy()] * (1 - eps) + eps / c
    x = inp.numpy().astype(float)
    p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    inp.g = torch.from_numpy((p - truth) / bs).to(inp.dtype)

# %% bce_grad: a guard below both fractions
def bce_grad(inp, targ):
    eps = 1e-12
    inp.g = (-(targ / (inp + eps)) + (1 - targ) / (1 - inp + eps)) / inp.numel()

# %% bce_grad: guards in a loop of python floats
import torch

def bce_grad(inp, targ):
    g = []
    for p, t in zip(inp.tolist(), targ.tolist()):
        p = min(max(p, 1e-12), 1 - 1e-12)
        g.append((p - t) / (p * (1 - p)) / len(targ))
    inp.g = torch.tensor(g)

# %% bce_logits_grad: prob, and inp again from it
def bce_logits_grad(inp, targ):
    prob = inp.sigmoid()
    again = (prob / (1 - prob)).log()
    inp.g = (again.sigmoid() - targ) / len(inp)

# %% hinge_grad: a loop with if
import torch

def hinge_grad(inp, targ):
    inp.g = torch.zeros_like(inp)
    for i in range(len(inp)):
        if 1 - targ[i] * inp[i] > 0:
            inp.g[i] = -targ[i] / len(inp)

# %% svm_grad: two loops
import torch

def svm_grad(inp, targ):
    bs, c = inp.shape
    inp.g = torch.zeros_like(inp)
    for r in range(bs):
        t = int(targ[r])
        for j in range(c):
            if j != t and inp[r, j] - inp[r, t] + 1 > 0:
                inp.g[r, j] += 1 / bs
                inp.g[r, t] -= 1 / bs

# %% l2_penalty_grad: in place on a copy
def l2_penalty_grad(w, lam):
    g = w.clone()
    g *= 2
    g *= lam
    w.g = g

# %% forward_and_backward: as the lesson writes it
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    diff = out.squeeze(-1) - targ
    loss = diff.pow(2).mean()
    out_g = 2 * diff.unsqueeze(-1) / inp.shape[0]
    l2_g = out_g @ w2.t()
    w2.g, b2.g = l2.t() @ out_g, out_g.sum(0)
    l1_g = l2_g * (l1 > 0)
    inp.g, w1.g, b1.g = l1_g @ w1.t(), inp.t() @ l1_g, l1_g.sum(0)
    return loss

# %% forward_and_backward: example by example
import torch

def forward_and_backward(inp, targ, w1, b1, w2, b2):
    for t in (inp, w1, b1, w2, b2):
        t.g = torch.zeros_like(t)
    loss, n = 0.0, len(inp)
    for i in range(n):
        before = inp[i] @ w1 + b1
        hidden = before.clamp(min=0)
        error = (hidden @ w2 + b2 - targ[i])[0]
        loss = loss + error ** 2 / n
        g = 2 * error / n
        b2.g += g
        w2.g += g * hidden[:, None]
        h = g * w2[:, 0] * (before > 0)
        b1.g += h
        w1.g += inp[i][:, None] * h[None]
        inp.g[i] = w1 @ h
    return loss

# %% forward_and_backward: float64 and numpy
import numpy as np
import torch

def forward_and_backward(inp, targ, w1, b1, w2, b2):
    x, t, v1, c1, v2, c2 = (a.numpy().astype(np.float64) for a in (inp, targ, w1, b1, w2, b2))
    z = x @ v1 + c1
    a = np.maximum(z, 0)
    d = (a @ v2 + c2)[:, 0] - t
    g = 2 * d[:, None] / len(d)
    gz = (g @ v2.T) * (z > 0)
    grads = gz @ v1.T, x.T @ gz, gz.sum(0), a.T @ g, g.sum(0)
    for tensor, grad in zip((inp, w1, b1, w2, b2), grads):
        tensor.g = torch.from_numpy(grad).float()
    return torch.tensor((d ** 2).mean(), dtype=torch.float32)

# %% forward_and_backward: classes for its layers
class Lin:
    def __init__(self, w, b):
        self.w, self.b = w, b

    def __call__(self, inp):
        self.inp = inp
        self.out = inp @ self.w + self.b
        return self.out

    def backward(self):
        self.inp.g = self.out.g @ self.w.t()
        self.w.g = self.inp.t() @ self.out.g
        self.b.g = self.out.g.sum(0)

class Relu:
    def __call__(self, inp):
        self.inp = inp
        self.out = inp.clamp_min(0.)
        return self.out

    def backward(self):
        self.inp.g = (self.inp > 0).float() * self.out.g

class Mse:
    def __call__(self, inp, targ):
        self.inp, self.targ = inp, targ
        return (inp.squeeze() - targ).pow(2).mean() if len(targ) > 1 else (inp[:, 0] - targ).pow(2).mean()

    def backward(self):
        self.inp.g = 2. * (self.inp[:, 0] - self.targ).unsqueeze(-1) / self.targ.shape[0]

def forward_and_backward(inp, targ, w1, b1, w2, b2):
    layers, loss = [Lin(w1, b1), Relu(), Lin(w2, b2)], Mse()
    x = inp
    for layer in layers:
        x = layer(x)
    value = loss(x, targ)
    loss.backward()
    for layer in reversed(layers):
        layer.backward()
    return value

# %% tied_weights_grad: both uses in numpy
import numpy as np
import torch

def tied_weights_grad(inp, out, w):
    x, v, g = inp.numpy(), w.numpy(), out.g.numpy()
    code = np.tanh(x @ v)
    back = (g @ v) * (1 - code ** 2)
    w.g = torch.from_numpy(x.T @ back + g.T @ code)
    inp.g = torch.from_numpy(back @ v.T)

# %% add_grad: sum_to_size
def add_grad(a, b, out):
    a.g = out.g.sum_to_size(a.shape)
    b.g = out.g.sum_to_size(b.shape)

# %% mul_grad: the other factor from out, guarded
import torch

def mul_grad(a, b, out):
    wide_a, wide_b = torch.broadcast_tensors(a, b)
    again = out / (wide_b + 1e-30)
    assert again.shape == out.shape
    a.g = (out.g * wide_b).sum_to_size(a.shape)
    b.g = (out.g * wide_a).sum_to_size(b.shape)

# %% unbroadcast: axes one after the other
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for axis, size in enumerate(shape):
        if size == 1 and g.shape[axis] != 1:
            g = g.sum(axis, keepdim=True)
    return g

# %% sum_grad: expand_as
def sum_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = g.expand_as(inp).clone()

# %% mean_grad: numpy broadcast_to
import numpy as np
import torch

def mean_grad(inp, out, dim, keepdim):
    g = out.g.numpy() if keepdim else np.expand_dims(out.g.numpy(), dim)
    inp.g = torch.from_numpy(np.broadcast_to(g / inp.shape[dim], tuple(inp.shape)).copy())

# %% var_grad: centred in double precision
def var_grad(inp, out, dim, unbiased):
    wide = inp.double()
    n = inp.shape[dim]
    centred = wide - wide.mean(dim, keepdim=True)
    inp.g = (out.g.unsqueeze(dim) * 2 * centred / (n - int(unbiased))).to(inp.dtype)

# %% max_grad: zeros and scatter
import torch

def max_grad(inp, out, dim):
    at = inp.argmax(dim, keepdim=True)
    inp.g = torch.zeros_like(inp).scatter(dim, at, out.g.unsqueeze(dim))

# %% cumsum_grad: slices from the end, added up
import torch

def cumsum_grad(inp, out, dim):
    slices = list(out.g.unbind(dim))
    for i in range(len(slices) - 2, -1, -1):
        slices[i] = slices[i] + slices[i + 1]
    inp.g = torch.stack(slices, dim)

# %% index_grad: a row at a time
import torch

def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    for r, at in enumerate(idx.tolist()):
        inp.g[at] = inp.g[at] + out.g[r]

# %% slice_grad: zeros on both sides
import torch

def slice_grad(inp, out, start, stop):
    bs, t, m = inp.shape
    before, after = out.g.new_zeros(bs, start, m), out.g.new_zeros(bs, t - stop, m)
    inp.g = torch.cat((before, out.g, after), 1)

# %% pad_grad: narrow
def pad_grad(inp, out, before, after):
    inp.g = out.g.narrow(1, before, inp.shape[1]).contiguous()

# %% where_grad: numpy
import numpy as np
import torch

def where_grad(mask, a, b, out):
    m = mask.numpy().astype(bool)
    a.g = torch.from_numpy(np.where(m, out.g.numpy(), 0).astype(np.float32))
    b.g = torch.from_numpy(np.where(m, 0, out.g.numpy()).astype(np.float32))

# %% standardize_grad: statistics made again, hat from inp
def standardize_grad(inp, out):
    n = inp.shape[-1]
    mean = inp.sum(-1, keepdim=True) / n
    centred = inp - mean
    inv = (centred.pow(2).sum(-1, keepdim=True) / n + 1e-5).rsqrt()
    hat = centred * inv
    inp.g = inv * (out.g - out.g.mean(-1, keepdim=True) - hat * (out.g * hat).mean(-1, keepdim=True))

# %% standardize_grad: a Jacobian for each row
import torch

def standardize_grad(inp, out):
    n = inp.shape[-1]
    rows = []
    for x, g in zip(inp.double(), out.g.double()):
        std = (x.var(unbiased=False) + 1e-5).sqrt()
        hat = (x - x.mean()) / std
        jac = (torch.eye(n, dtype=x.dtype) - 1 / n - torch.outer(hat, hat) / n) / std
        rows.append(jac.T @ g)
    inp.g = torch.stack(rows).to(inp.dtype)

# %% layernorm_grad: hat from out, gamma and beta
def layernorm_grad(inp, gamma, beta, out):
    mean, var = inp.mean(-1, keepdim=True), inp.var(-1, unbiased=False, keepdim=True)
    std = (var + 1e-5).sqrt()
    hat = (inp - mean) / std
    again = hat * gamma + beta
    assert (again - out).abs().max() < 1e-2
    beta.g = out.g.sum((0, 1))
    gamma.g = (out.g * hat).sum((0, 1))
    g = out.g * gamma
    inp.g = (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True)) / std

# %% batchnorm_grad: one column after the other
import torch

def batchnorm_grad(inp, gamma, beta, out):
    inp.g, gamma.g, beta.g = torch.zeros_like(inp), torch.zeros_like(gamma), torch.zeros_like(beta)
    bs = inp.shape[0]
    for j in range(inp.shape[1]):
        x, g = inp[:, j], out.g[:, j]
        inv = (x.var(unbiased=False) + 1e-5) ** -0.5
        hat = (x - x.mean()) * inv
        beta.g[j], gamma.g[j] = g.sum(), (g * hat).sum()
        inp.g[:, j] = gamma[j] * inv / bs * (bs * g - g.sum() - hat * (g * hat).sum())

# %% batchnorm_steps_grad: every step made again, with rounding
def batchnorm_steps_grad(inp, gamma, beta, mean, centred, var, inv, hat, out):
    bs = inp.shape[0]
    again_hat = (out - beta) / gamma
    again_inv = hat / centred
    again_centred = hat / inv
    again_mean = (inp - centred).mean(0)
    again_var = inv ** -2 - 1e-5
    assert again_hat.shape == again_centred.shape == again_inv.shape and again_mean.shape == again_var.shape
    hat.g = out.g * gamma
    gamma.g = (out.g * hat).sum(0)
    beta.g = out.g.sum(0)
    inv.g = (hat.g * centred).sum(0)
    var.g = inv.g * -0.5 * (var + 1e-5) ** -1.5
    centred.g = hat.g * inv + var.g * 2 * centred / bs
    mean.g = -centred.g.sum(0)
    inp.g = centred.g + mean.g / bs

# %% batchnorm_eval_grad: numpy in double precision
import numpy as np
import torch

def batchnorm_eval_grad(inp, gamma, beta, mean, var, out):
    x, ga, mu, v, g = (a.numpy().astype(float) for a in (inp, gamma, mean, var, out.g))
    inv = 1 / np.sqrt(v + 1e-5)
    inp.g = torch.from_numpy(g * ga * inv).float()
    gamma.g = torch.from_numpy((g * (x - mu) * inv).sum(0)).float()
    beta.g = torch.from_numpy(g.sum(0)).float()

# %% rmsnorm_grad: a guard added twice
def rmsnorm_grad(inp, gamma, out):
    rms = ((inp ** 2).mean(-1, keepdim=True) + 1e-5).sqrt()
    hat = inp / (rms + 1e-12)
    gamma.g = (out.g * hat).sum(0)
    g = out.g * gamma
    inp.g = (g - hat * (g * hat).mean(-1, keepdim=True)) / (rms + 1e-12)

# %% groupnorm_grad: a group at a time
import torch

def groupnorm_grad(inp, gamma, beta, out, groups):
    c = inp.shape[1]
    size = c // groups
    inp.g, gamma.g, beta.g = torch.zeros_like(inp), torch.zeros_like(gamma), torch.zeros_like(beta)
    for b in range(inp.shape[0]):
        for k in range(groups):
            s = slice(k * size, (k + 1) * size)
            x, g = inp[b, s], out.g[b, s]
            std = (x.var(unbiased=False) + 1e-5).sqrt()
            hat = (x - x.mean()) / std
            gamma.g[s] += (g * hat).sum(1)
            beta.g[s] += g.sum(1)
            g = g * gamma[s][:, None]
            inp.g[b, s] = (g - g.mean() - hat * (g * hat).mean()) / std

# %% embedding_grad: one-hot rows
import torch

def embedding_grad(idx, w, out):
    hot = torch.nn.functional.one_hot(idx.reshape(-1), w.shape[0]).to(w.dtype)
    w.g = hot.T @ out.g.reshape(-1, w.shape[1])

# %% conv1d_grad: taps in a loop
import torch

def conv1d_grad(inp, w, b, out):
    n = out.g.shape[-1]
    inp.g, w.g = torch.zeros_like(inp), torch.zeros_like(w)
    for k in range(w.shape[2]):
        w.g[:, :, k] = torch.einsum("boi,bci->oc", out.g, inp[:, :, k:k + n])
        inp.g[:, :, k:k + n] += torch.einsum("boi,oc->bci", out.g, w[:, :, k])
    b.g = out.g.sum((0, 2))

# %% depthwise_conv1d_grad: windows in numpy
import numpy as np
import torch

def depthwise_conv1d_grad(inp, w, out):
    g, x, v = out.g.numpy(), inp.numpy(), w.numpy()
    n = g.shape[-1]
    gi, gw = np.zeros_like(x), np.zeros_like(v)
    for i in range(n):
        gw += (g[:, :, i, None] * x[:, :, i:i + v.shape[1]]).sum(0)
        gi[:, :, i:i + v.shape[1]] += g[:, :, i, None] * v
    inp.g, w.g = torch.from_numpy(gi), torch.from_numpy(gw)

# %% maxpool1d_grad: windows in two loops
import torch

def maxpool1d_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[-1]):
        window = inp[..., i * step:i * step + size]
        at = window.argmax(-1, keepdim=True) + i * step
        inp.g.scatter_add_(-1, at, out.g[..., i:i + 1])

# %% avgpool2d_grad: a product of Kronecker
import torch

def avgpool2d_grad(inp, out, size):
    big = torch.kron(out.g, torch.ones(1, 1, size, size)) / size ** 2
    inp.g = torch.zeros_like(inp)
    inp.g[:, :, :big.shape[2], :big.shape[3]] = big

# %% rnn_step_grad: the step made again, near out
def rnn_step_grad(x, h, wx, wh, b, out):
    again = (x @ wx + h @ wh + b).tanh()
    a = out.g * (1 - again * again)
    x.g, h.g = a @ wx.T, a @ wh.T
    wx.g, wh.g, b.g = x.T @ a, h.T @ a, a.sum(0)

# %% rnn_grad: states in a list, then backwards
import torch

def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append(torch.tanh(x[:, i] @ wx + states[-1] @ wh + b))
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(t) for t in (x, wx, wh, b))
    g = out.g
    for i in reversed(range(x.shape[1])):
        a = g * (1 - states[i + 1] ** 2)
        x.g[:, i] = a @ wx.t()
        wx.g += x[:, i].t() @ a
        wh.g += states[i].t() @ a
        b.g += a.sum(0)
        g = a @ wh.t()
    h0.g = g

# %% lstm_step_grad: gates in a dictionary
import torch

def lstm_step_grad(x, h, c, w, b, out):
    xh = torch.cat((x, h), -1)
    i, f, g, o = (xh @ w + b).chunk(4, -1)
    s = {"i": i.sigmoid(), "f": f.sigmoid(), "g": g.tanh(), "o": o.sigmoid()}
    new_c = s["f"] * c + s["i"] * s["g"]
    th = new_c.tanh()
    gh, gc = out.g
    gc = gc + gh * s["o"] * (1 - th ** 2)
    parts = [
        gc * s["g"] * s["i"] * (1 - s["i"]),
        gc * c * s["f"] * (1 - s["f"]),
        gc * s["i"] * (1 - s["g"] ** 2),
        gh * th * s["o"] * (1 - s["o"]),
    ]
    a = torch.cat(parts, -1)
    c.g = gc * s["f"]
    w.g, b.g = xh.t() @ a, a.sum(0)
    gxh = a @ w.t()
    x.g, h.g = gxh[:, :x.shape[1]], gxh[:, x.shape[1]:]

# %% gru_step_grad: numpy
import numpy as np
import torch

def gru_step_grad(x, h, w, u, b, out):
    X, H, W, U, B, G = (t.numpy().astype(float) for t in (x, h, w, u, b, out.g))
    sig = lambda v: 1 / (1 + np.exp(-v))
    xr, xz, xn = np.split(X @ W + B, 3, -1)
    hr, hz, hn = np.split(H @ U, 3, -1)
    r, z = sig(xr + hr), sig(xz + hz)
    n = np.tanh(xn + r * hn)
    gn = G * (1 - z) * (1 - n ** 2)
    gz = G * (H - n) * z * (1 - z)
    gr = gn * hn * r * (1 - r)
    gx, gh = np.concatenate([gr, gz, gn], -1), np.concatenate([gr, gz, gn * r], -1)
    for t, v in ((x, gx @ W.T), (h, gh @ U.T + G * z), (w, X.T @ gx), (u, H.T @ gh), (b, gx.sum(0))):
        t.g = torch.from_numpy(v).float()

# %% clip_grad_norm: a guard in the quotient
import torch

def clip_grad_norm(grads, limit):
    norm = sum((g ** 2).sum() for g in grads) ** 0.5
    factor = min(1.0, float(limit / (norm + 1e-12)))
    return [g * factor for g in grads]

# %% attention_grad: one example, one head, in a loop
import torch

def attention_grad(q, k, v, out):
    q.g, k.g, v.g = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    root = q.shape[-1] ** 0.5
    for i in range(len(q)):
        p = torch.softmax(q[i] @ k[i].T / root, -1)
        g = out.g[i]
        v.g[i] = p.T @ g
        gp = g @ v[i].T
        gs = p * (gp - (gp * p).sum(-1, keepdim=True)) / root
        q.g[i], k.g[i] = gs @ k[i], gs.T @ q[i]

# %% causal_attention_grad: a mask of large negative numbers
import torch

def causal_attention_grad(q, k, v, out):
    t, root = q.shape[1], q.shape[-1] ** 0.5
    scores = q @ k.transpose(1, 2) / root + torch.full((t, t), -1e9).triu(1)
    p = scores.softmax(-1)
    v.g = p.transpose(1, 2) @ out.g
    gp = out.g @ v.transpose(1, 2)
    gs = p * (gp - (gp * p).sum(-1, keepdim=True)) / root
    q.g, k.g = gs @ k, gs.transpose(1, 2) @ q

# %% masked_softmax_grad: from out alone
def masked_softmax_grad(scores, out, mask):
    kept = out * mask
    scores.g = kept * (out.g - (kept * out.g).sum(-1, keepdim=True))

# %% rope_grad: complex numbers
import torch

def rope_grad(inp, out):
    c = inp.shape[-1] // 2
    angle = torch.arange(inp.shape[1])[:, None] / 10000 ** (torch.arange(c) / c)
    turned = torch.complex(out.g[..., :c], out.g[..., c:]) * torch.polar(torch.ones_like(angle), -angle)
    inp.g = torch.cat((turned.real, turned.imag), -1)

# %% swiglu_grad: both factors made again from out
def swiglu_grad(inp, w1, w2, out):
    up, gate = inp @ w1, inp @ w2
    s = gate.sigmoid()
    again = out / (gate * s)
    assert again.shape == up.shape
    gu = out.g * gate * s
    gg = out.g * up * (s + gate * s * (1 - s))
    inp.g = gu @ w1.T + gg @ w2.T
    w1.g, w2.g = inp.T @ gu, inp.T @ gg

# %% info_nce_grad: shares less the identity
import torch

def info_nce_grad(a, b, temperature):
    n = len(a)
    p = (a @ b.T / temperature).softmax(-1)
    g = (p - torch.eye(n)) / n / temperature
    a.g, b.g = g @ b, g.T @ a

# %% inverse_grad: a small ridge, and the inverse made again
import torch

def inverse_grad(a, out):
    again = torch.linalg.inv(a.double() + 1e-12 * torch.eye(len(a), dtype=torch.float64))
    a.g = -(again.T @ out.g.double() @ again.T).to(a.dtype)

# %% solve_grad: b again from a and out
import torch

def solve_grad(a, b, out):
    again = a @ out
    assert again.shape == b.shape
    b.g = torch.linalg.solve(a.T, out.g)
    a.g = -b.g @ out.T

# %% logdet_grad: numpy's inverse
import numpy as np
import torch

def logdet_grad(a, out):
    a.g = torch.from_numpy(np.linalg.inv(a.numpy().astype(float)).T * float(out.g)).to(a.dtype)

# %% fixed_point_grad: out turned on, so that it is near itself
import torch

def fixed_point_grad(x, w, out):
    h = out
    for _ in range(3):
        h = (x + h @ w).tanh()
    slope = 1 - h * h
    g = out.g
    for _ in range(300):
        g = out.g + (g * slope) @ w.T
    x.g = g * slope
    w.g = h.T @ x.g

# %% momentum_step: written out
def momentum_step(p, g, m, lr, beta):
    new_m = beta * m
    new_m = new_m + g
    return p - lr * new_m, new_m

# %% adam_step: numpy
import numpy as np
import torch

def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    P, G, M, V = (a.numpy().astype(np.float64) for a in (p, g, m, v))
    M = beta1 * M + (1 - beta1) * G
    V = beta2 * V + (1 - beta2) * G ** 2
    P = P - lr * (M / (1 - beta1 ** t)) / (np.sqrt(V / (1 - beta2 ** t)) + eps)
    return tuple(torch.from_numpy(a).to(p.dtype) for a in (P, M, V))

# %% hvp_logistic: one example after the other
import torch

def hvp_logistic(w, x, targ, v):
    total = torch.zeros_like(w)
    for row in x:
        s = torch.sigmoid(row @ w)
        total = total + row * (row @ v) * s * (1 - s)
    return total / len(x)

# %% straight_through_grad: a product of comparisons
def straight_through_grad(inp, out):
    inp.g = out.g * ((inp >= -1) & (inp <= 1))

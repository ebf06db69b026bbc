# forward_and_backward: l1 = inp @ w1 + b1, l2 = l1.clamp_min(0), out = l2 @ w2 + b2, loss = (out.squeeze(-1) - targ).pow(2).mean()

# %% right: classes with a forward and a backward
class Linear:
    def __init__(self, w, b):
        self.w, self.b = w, b

    def __call__(self, x):
        self.x = x
        return x @ self.w + self.b

    def backward(self, g):
        self.w.g = self.x.t() @ g
        self.b.g = g.sum(0)
        return g @ self.w.t()


class Relu:
    def __call__(self, x):
        self.x = x
        return x.clamp_min(0)

    def backward(self, g):
        return g * (self.x > 0)


def forward_and_backward(inp, targ, w1, b1, w2, b2):
    layers = [Linear(w1, b1), Relu(), Linear(w2, b2)]
    x = inp
    for layer in layers:
        x = layer(x)
    diff = x[:, 0] - targ
    g = 2 * diff[:, None] / len(targ)
    for layer in layers[::-1]:
        g = layer.backward(g)
    inp.g = g
    return diff.square().mean()


# %% right: two helper functions for the linear layers
def linear(x, w, b):
    return x @ w + b


def linear_back(x, w, b, g):
    x.g, w.g, b.g = g @ w.t(), x.t() @ g, g.sum(0)


def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = linear(inp, w1, b1)
    l2 = l1.relu()
    out = linear(l2, w2, b2)
    d = out - targ[:, None]
    linear_back(l2, w2, b2, 2 * d / d.numel())
    linear_back(inp, w1, b1, l2.g * (l2 > 0))
    return d.square().mean()


# %% right: computed in float64, a relu in place
import torch

def forward_and_backward(inp, targ, w1, b1, w2, b2):
    X, T, W1, B1, W2, B2 = (t.double() for t in (inp, targ, w1, b1, w2, b2))
    a = (X @ W1 + B1).clamp_min_(0)
    err = (a @ W2 + B2)[:, 0] - T
    loss = err.dot(err) / err.numel()
    g = (2 / err.numel()) * err[:, None]
    ga = g @ W2.t()
    ga[a == 0] = 0
    grads = [(inp, ga @ W1.t()), (w1, X.t() @ ga), (b1, ga.sum(0)),
             (w2, a.t() @ g), (b2, g.sum(0))]
    for t, v in grads:
        t.g = v.float()
    return loss.float()


# %% right: classes in few lines, the kink included
class Lin:
    def __init__(self, w, b): self.w, self.b = w, b
    def __call__(self, x): self.x = x; return x @ self.w + self.b
    def back(self, g): self.w.g = self.x.T @ g; self.b.g = g.sum(0); return g @ self.w.T


class Relu:
    def __call__(self, x): self.on = x >= 0; return x * self.on
    def back(self, g): return g * self.on


def forward_and_backward(inp, targ, w1, b1, w2, b2):
    layers, x = [Lin(w1, b1), Relu(), Lin(w2, b2)], inp
    for layer in layers: x = layer(x)
    diff = x - targ.unsqueeze(1)
    g = 2 / len(targ) * diff
    for layer in reversed(layers): g = layer.back(g)
    inp.g = g
    return (diff * diff).sum() / len(targ)


# %% right: lin_grad alone as a helper
def lin_grad(inp, out, w, b):
    inp.g, w.g, b.g = out.g @ w.t(), inp.t() @ out.g, out.g.sum(0)


def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0.0)
    out = l2 @ w2 + b2
    diff = out[:, 0] - targ
    loss = diff.pow(2).mean()
    out.g = 2.0 * diff[:, None] / inp.shape[0]
    lin_grad(l2, out, w2, b2)
    l1.g = (l1 > 0).float() * l2.g
    lin_grad(inp, l1, w1, b1)
    return loss


# %% right: the functions of the earlier exercises
def mse_grad(inp, targ):
    inp.g = 2. * (inp.squeeze(-1) - targ).unsqueeze(-1) / inp.shape[0]

def relu_grad(inp, out):
    inp.g = (inp > 0).float() * out.g

def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)

def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    loss = (out.squeeze(-1) - targ).pow(2).mean()
    mse_grad(out, targ)
    lin_grad(l2, out, w2, b2)
    relu_grad(l1, l2)
    lin_grad(inp, l1, w1, b1)
    return loss


# %% right: NumPy all the way
import numpy as np
import torch


def forward_and_backward(inp, targ, w1, b1, w2, b2):
    x, t, W1, B1, W2, B2 = (v.numpy() for v in (inp, targ, w1, b1, w2, b2))
    h = x @ W1 + B1
    r = np.maximum(h, 0)
    err = (r @ W2 + B2)[:, 0] - t
    g = (2 / np.float32(len(t)) * err)[:, None]
    gh = g @ W2.T * (h > 0)
    grads = gh @ W1.T, x.T @ gh, gh.sum(0), r.T @ g, g.sum(0)
    for owner, grad in zip((inp, w1, b1, w2, b2), grads):
        owner.g = torch.from_numpy(grad)
    return torch.tensor((err**2).mean())


# %% right: a tape of nodes
class Node:
    def __init__(self, value, back=None):
        self.value, self.back, self.g = value, back, None

def forward_and_backward(inp, targ, w1, b1, w2, b2):
    tape = []

    def linear(x, w, b):
        out = Node(x.value @ w + b)
        def back():
            x.g = out.g @ w.t()
            w.g = x.value.t() @ out.g
            b.g = out.g.sum(0)
        tape.append(back)
        return out

    def relu(x):
        out = Node(x.value.clamp_min(0))
        def back():
            x.g = out.g * (x.value > 0)
        tape.append(back)
        return out

    x = Node(inp)
    pred = linear(relu(linear(x, w1, b1)), w2, b2)
    diff = pred.value.squeeze(-1) - targ
    pred.g = (2 * diff / len(diff)).unsqueeze(-1)
    for back in reversed(tape):
        back()
    inp.g = x.g
    return (diff * diff).sum() / len(diff)


# %% right: a tape of closures
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    tape = []

    def lin(x, w, b):
        y = x @ w + b
        def back():
            x.g, w.g, b.g = y.g @ w.t(), x.t() @ y.g, y.g.sum(0)
        tape.append(back)
        return y

    l1 = lin(inp, w1, b1)
    l2 = l1.relu()
    tape.append(lambda: setattr(l1, "g", l2.g * (l2 > 0)))
    out = lin(l2, w2, b2)
    diff = out - targ.view(-1, 1)
    out.g = diff * 2 / len(diff)
    while tape:
        tape.pop()()
    return diff.square().mean()


# %% right: a tape of lambdas
import torch


def forward_and_backward(inp, targ, w1, b1, w2, b2):
    tape = []
    l1 = inp @ w1 + b1
    tape.append(lambda g: (setattr(inp, "g", g @ w1.t()), setattr(w1, "g", inp.t() @ g), setattr(b1, "g", g.sum(0)))[0])
    l2 = torch.where(l1 > 0, l1, 0.0)
    tape.append(lambda g: torch.where(l1 > 0, g, 0.0))
    pred = l2 @ w2 + b2
    tape.append(lambda g: (setattr(w2, "g", l2.t() @ g), setattr(b2, "g", g.sum(0)), g @ w2.t())[-1])
    d = pred.flatten() - targ
    g = (d * 2 / d.numel()).reshape(-1, 1)
    for back in tape[::-1]:
        g = back(g)
    return (d @ d) / d.numel()


# %% wrong: w1 after an update used in inp.g | inp.g: wrong-operand
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    g = (2 * diff / len(targ)).unsqueeze(-1)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g1 = g @ w2.t() * (l1 > 0)
    w1.g, b1.g = inp.t() @ g1, g1.sum(0)
    w1_new = w1 - 0.01 * w1.g
    inp.g = g1 @ w1_new.t()
    return diff.pow(2).mean()


# %% wrong: mask missing in w1.g | w1.g: missing-local
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    out = l2 @ w2 + b2
    diff = out - targ[:, None]
    g = 2 * diff / len(inp)
    w2.g = l2.t() @ g
    b2.g = g.sum(0)
    l1_g = (g @ w2.t()) * (l1 > 0)
    w1.g = inp.t() @ (g @ w2.t())
    b1.g = l1_g.sum(0)
    inp.g = l1_g @ w1.t()
    return diff.pow(2).mean()


# %% wrong: w1.g averaged over the batch | w1.g: mean-for-sum
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    g = 2 * diff.unsqueeze(-1) / len(targ)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g = (g @ w2.t()) * (l1 > 0)
    w1.g, b1.g, inp.g = inp.t() @ g / len(inp), g.sum(0), g @ w1.t()
    return (diff**2).mean()


# %% wrong: relu of inp in w1.g | w1.g: wrong-operand or wrong-point
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    diff = out.squeeze(-1) - targ
    out.g = (2 * diff / len(targ)).unsqueeze(-1)
    w2.g = l2.t() @ out.g
    b2.g = out.g.sum(0)
    l2.g = out.g @ w2.t()
    l1.g = l2.g * (l1 > 0)
    w1.g = inp.clamp_min(0).t() @ l1.g
    b1.g = l1.g.sum(0)
    inp.g = l1.g @ w1.t()
    return (diff**2).mean()


# %% wrong: mask missing in b1.g | b1.g: missing-local
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    diff = out.squeeze(-1) - targ
    out.g = (2 * diff / len(targ)).unsqueeze(-1)
    w2.g = l2.t() @ out.g
    b2.g = out.g.sum(0)
    l2.g = out.g @ w2.t()
    l1.g = l2.g * (l1 > 0)
    w1.g = inp.t() @ l1.g
    b1.g = l2.g.sum(0)
    inp.g = l1.g @ w1.t()
    return (diff**2).mean()


# %% wrong: b1.g summed over the features instead of the batch | b1.g: summed-wrong-axis
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    g = 2 * diff.unsqueeze(-1) / len(targ)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g = (g @ w2.t()) * (l1 > 0)
    w1.g, b1.g, inp.g = inp.t() @ g, g.sum(1), g @ w1.t()
    return (diff**2).mean()


# %% wrong: b1.g averaged over the batch and multiplied by b1 | b1.g: unknown or extra-factor
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    out = l2 @ w2 + b2
    diff = out - targ[:, None]
    g = 2 * diff / len(inp)
    w2.g = l2.t() @ g
    b2.g = g.sum(0)
    l1_g = (g @ w2.t()) * (l1 > 0)
    w1.g = inp.t() @ l1_g
    b1.g = l1_g.mean(0) * b1
    inp.g = l1_g @ w1.t()
    return diff.pow(2).mean()


# %% wrong: l1 used in place of l2 in w2.g | w2.g: wrong-operand
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp(min=0.0)
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    g = 2 * diff.unsqueeze(-1) / len(targ)
    w2.g, b2.g = l1.t() @ g, g.sum(0)
    g = (g @ w2.t()) * (l1 > 0)
    w1.g, b1.g, inp.g = inp.t() @ g, g.sum(0), g @ w1.t()
    return (diff**2).mean()


# %% wrong: the bare error in b2.g | b2.g: missing-local or extra-factor or value-for-gradient
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    out = l2 @ w2 + b2
    diff = out - targ[:, None]
    g = 2 * diff / len(inp)
    w2.g = l2.t() @ g
    b2.g = diff.sum(0)
    l1_g = (g @ w2.t()) * (l1 > 0)
    w1.g = inp.t() @ l1_g
    b1.g = l1_g.sum(0)
    inp.g = l1_g @ w1.t()
    return diff.pow(2).mean()


# %% wrong: b2.g summed to one number | b2.g: summed-wrong-axis
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    g = (2 * diff / len(targ)).unsqueeze(-1)
    w2.g, b2.g = l2.t() @ g, g.sum()
    g1 = g @ w2.t() * (l1 > 0)
    inp.g, w1.g, b1.g = g1 @ w1.t(), inp.t() @ g1, g1.sum(0)
    return diff.pow(2).mean()


# %% wrong: loss without the square | return: missing-local or wrong-local
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    out = l2 @ w2 + b2
    diff = out - targ[:, None]
    g = 2 * diff / len(inp)
    w2.g = l2.t() @ g
    b2.g = g.sum(0)
    l1_g = (g @ w2.t()) * (l1 > 0)
    w1.g = inp.t() @ l1_g
    b1.g = l1_g.sum(0)
    inp.g = l1_g @ w1.t()
    return diff.mean()


# %% wrong: loss summed instead of averaged | return: sum-for-mean
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    g = 2 * diff.unsqueeze(-1) / len(targ)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g = (g @ w2.t()) * (l1 > 0)
    w1.g, b1.g, inp.g = inp.t() @ g, g.sum(0), g @ w1.t()
    return (diff**2).sum()


# %% wrong: every prediction with every target in the loss | return: broadcast-accident
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    out = l2 @ w2 + b2
    loss = (out - targ).pow(2).mean()
    g = 2 * (out - targ.unsqueeze(-1)) / out.shape[0]
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g = (g @ w2.t()) * (l1 > 0)
    w1.g, b1.g, inp.g = inp.t() @ g, g.sum(0), g @ w1.t()
    return loss


# %% wrong: root of the loss | return: wrong-local
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    diff = out.squeeze(-1) - targ
    out.g = (2 * diff / len(targ)).unsqueeze(-1)
    w2.g = l2.t() @ out.g
    b2.g = out.g.sum(0)
    l2.g = out.g @ w2.t()
    l1.g = l2.g * (l1 > 0)
    w1.g = inp.t() @ l1.g
    b1.g = l1.g.sum(0)
    inp.g = l1.g @ w1.t()
    return (diff**2).mean().sqrt()


# %% wrong: mask missing | inp.g, w1.g, b1.g: missing-local
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    diff = out.squeeze(-1) - targ
    g = 2 * diff[:, None] / len(targ)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g = g @ w2.t()
    w1.g, b1.g = inp.t() @ g, g.sum(0)
    inp.g = g @ w1.t()
    return diff.pow(2).mean()


# %% wrong: w2 missing on the way back | inp.g, w1.g, b1.g: missing-local
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    diff = out.squeeze(-1) - targ
    out.g = (2 * diff / len(targ)).unsqueeze(-1)
    w2.g = l2.t() @ out.g
    b2.g = out.g.sum(0)
    l1.g = out.g * (l1 > 0)
    w1.g = inp.t() @ l1.g
    b1.g = l1.g.sum(0)
    inp.g = l1.g @ w1.t()
    return (diff**2).mean()


# %% wrong: 2 from the square missing | inp.g, w1.g, b1.g, w2.g, b2.g: missing-local
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    g = diff.unsqueeze(-1) / len(targ)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g = (g @ w2.t()) * (l1 > 0)
    w1.g, b1.g, inp.g = inp.t() @ g, g.sum(0), g @ w1.t()
    return (diff**2).mean()


# %% wrong: relu missing, forwards and backwards | inp.g, w1.g, b1.g: missing-local; w2.g, b2.g: missing-local or wrong-point; return: missing-local
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    out = l1 @ w2 + b2
    diff = out.squeeze(-1) - targ
    out.g = (2 * diff / len(targ)).unsqueeze(-1)
    w2.g = l1.t() @ out.g
    b2.g = out.g.sum(0)
    l1.g = out.g @ w2.t()
    w1.g = inp.t() @ l1.g
    b1.g = l1.g.sum(0)
    inp.g = l1.g @ w1.t()
    return (diff**2).mean()


# %% wrong: neither bias summed over the batch | b1.g, b2.g: missing-batch-sum
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    g = 2 * diff.unsqueeze(-1) / len(targ)
    w2.g, b2.g = l2.t() @ g, g
    g = (g @ w2.t()) * (l1 > 0)
    w1.g, b1.g, inp.g = inp.t() @ g, g, g @ w1.t()
    return (diff**2).mean()


# %% wrong: only every other row in w1.g and b1.g | w1.g, b1.g: partial-batch
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    g = (2 * diff / len(targ)).unsqueeze(-1)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g1 = g @ w2.t() * (l1 > 0)
    inp.g = g1 @ w1.t()
    w1.g, b1.g = inp[::2].t() @ g1[::2], g1[::2].sum(0)
    return diff.pow(2).mean()


# %% wrong: w1.g and w2.g averaged over the batch | w1.g, w2.g: mean-for-sum
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    bs = len(inp)
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    diff = out.squeeze(-1) - targ
    out.g = (2 * diff / bs).unsqueeze(-1)
    w2.g = l2.t() @ out.g / bs
    b2.g = out.g.sum(0)
    l2.g = out.g @ w2.t()
    l1.g = l2.g * (l1 > 0)
    w1.g = inp.t() @ l1.g / bs
    b1.g = l1.g.sum(0)
    inp.g = l1.g @ w1.t()
    return (diff**2).mean()


# %% wrong: both biases averaged over the batch, the loss as a float | b1.g, b2.g: mean-for-sum; return: wrong-type
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    diff = out.squeeze(-1) - targ
    g = (2 / len(targ)) * diff.unsqueeze(-1)
    w2.g = l2.t() @ g
    b2.g = g.mean(0)
    g = g @ w2.t()
    g = g * (l2 > 0)
    w1.g = inp.t() @ g
    b1.g = g.mean(0)
    inp.g = g @ w1.t()
    return (diff ** 2).mean().item()


# %% wrong: gradients not divided by the batch size | inp.g, w1.g, b1.g, w2.g, b2.g: sum-for-mean
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    g = 2 * diff.unsqueeze(-1)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g = (g @ w2.t()) * (l1 > 0)
    w1.g, b1.g, inp.g = inp.t() @ g, g.sum(0), g @ w1.t()
    return (diff**2).mean()


# %% wrong: loss and gradients summed instead of averaged | *: sum-for-mean
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    out = l2 @ w2 + b2
    diff = out - targ[:, None]
    g = 2 * diff
    w2.g = l2.t() @ g
    b2.g = g.sum(0)
    l1_g = (g @ w2.t()) * (l1 > 0)
    w1.g = inp.t() @ l1_g
    b1.g = l1_g.sum(0)
    inp.g = l1_g @ w1.t()
    return diff.pow(2).sum()


# %% wrong: sign of the error turned round | inp.g, w1.g, b1.g, w2.g, b2.g: wrong-sign
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    diff = targ - (l2 @ w2 + b2).squeeze(-1)
    g = 2 * diff.unsqueeze(-1) / len(targ)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g = (g @ w2.t()) * (l1 > 0)
    w1.g, b1.g, inp.g = inp.t() @ g, g.sum(0), g @ w1.t()
    return (diff**2).mean()


# %% wrong: loss halved | *: wrong-factor or missing-local
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    out = l2 @ w2 + b2
    diff = out - targ[:, None]
    g = diff / len(inp)
    w2.g = l2.t() @ g
    b2.g = g.sum(0)
    l1_g = (g @ w2.t()) * (l1 > 0)
    w1.g = inp.t() @ l1_g
    b1.g = l1_g.sum(0)
    inp.g = l1_g @ w1.t()
    return diff.pow(2).mean() / 2


# %% wrong: b1 missing from the forward pass | *: wrong-point or wrong-local
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    diff = out.squeeze(-1) - targ
    out.g = (2 * diff / len(targ)).unsqueeze(-1)
    w2.g = l2.t() @ out.g
    b2.g = out.g.sum(0)
    l2.g = out.g @ w2.t()
    l1.g = l2.g * (l1 > 0)
    w1.g = inp.t() @ l1.g
    b1.g = l1.g.sum(0)
    inp.g = l1.g @ w1.t()
    return (diff**2).mean()


# %% wrong: neither bias in the forward pass | *: wrong-point or missing-local
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1
    l2 = l1.relu()
    out = l2 @ w2
    d = out.squeeze(-1) - targ
    og = 2 * d.unsqueeze(-1) / d.numel()
    w2.g, b2.g = l2.T @ og, og.sum(0)
    l1g = (og @ w2.T) * (l1 > 0)
    w1.g, b1.g = inp.T @ l1g, l1g.sum(0)
    inp.g = l1g @ w1.T
    return d.pow(2).mean()


# %% wrong: b2 missing from the forward pass | *: wrong-point
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    out = l2 @ w2
    diff = out - targ[:, None]
    g = 2 * diff / len(inp)
    w2.g = l2.t() @ g
    b2.g = g.sum(0)
    l1_g = (g @ w2.t()) * (l1 > 0)
    w1.g = inp.t() @ l1_g
    b1.g = l1_g.sum(0)
    inp.g = l1_g @ w1.t()
    return diff.pow(2).mean()


# %% wrong: w2.g used in place of w2 | inp.g, w1.g, b1.g: wrong-operand
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    loss = diff.pow(2).mean()
    g = (2 * diff / len(targ)).unsqueeze(-1)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g1 = g @ w2.g.t() * (l1 > 0)
    inp.g, w1.g, b1.g = g1 @ w1.t(), inp.t() @ g1, g1.sum(0)
    return loss


# %% wrong: w2 after an update used on the way back | inp.g, w1.g, b1.g: wrong-operand
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    loss = diff.pow(2).mean()
    g = (2 * diff / len(targ)).unsqueeze(-1)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    w2 = w2 - 0.1 * w2.g
    g1 = g @ w2.t() * (l1 > 0)
    inp.g, w1.g, b1.g = g1 @ w1.t(), inp.t() @ g1, g1.sum(0)
    return loss


# %% wrong: mask the wrong way round | inp.g, w1.g, b1.g: inverted-mask
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    g = 2 * diff.unsqueeze(-1) / len(targ)
    w2.g = l2.t() @ g
    b2.g = g.sum(0)
    g = (g @ w2.t()) * (l1 < 0)
    w1.g, b1.g, inp.g = inp.t() @ g, g.sum(0), g @ w1.t()
    return (diff**2).mean()


# %% wrong: error multiplied by 0 | inp.g, w1.g, b1.g, w2.g, b2.g: hard-coded
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    g = (0 * diff / len(targ)).unsqueeze(-1)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g1 = g @ w2.t() * (l1 > 0)
    inp.g, w1.g, b1.g = g1 @ w1.t(), inp.t() @ g1, g1.sum(0)
    return diff.pow(2).mean()


# %% wrong: mask of the upstream gradient | inp.g, w1.g, b1.g: wrong-local or wrong-point
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    out = l2 @ w2 + b2
    d = out.squeeze(-1) - targ
    og = 2 * d.unsqueeze(-1) / d.numel()
    w2.g, b2.g = l2.T @ og, og.sum(0)
    l2g = og @ w2.T
    l1g = l2g * (l2g > 0)
    w1.g, b1.g = inp.T @ l1g, l1g.sum(0)
    inp.g = l1g @ w1.T
    return d.square().mean()


# %% wrong: the upstream gradient clamped, as in a second forward pass | inp.g, w1.g, b1.g: wrong-local or unknown or wrong-point
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    diff = out[:, 0] - targ
    loss = diff.pow(2).mean()
    out_g = 2 * diff[:, None] / len(diff)
    l2_g = out_g @ w2.t()
    w2.g = l2.t() @ out_g
    b2.g = out_g.sum(0)
    l1_g = l2_g.clamp_min(0)
    inp.g = l1_g @ w1.t()
    w1.g = inp.t() @ l1_g
    b1.g = l1_g.sum(0)
    return loss


# %% wrong: l2 in place of the mask | inp.g, w1.g, b1.g: wrong-local or wrong-operand
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    out = l2 @ w2 + b2
    diff = out - targ[:, None]
    g = 2 * diff / len(inp)
    w2.g = l2.t() @ g
    b2.g = g.sum(0)
    l1_g = (g @ w2.t()) * l2
    w1.g = inp.t() @ l1_g
    b1.g = l1_g.sum(0)
    inp.g = l1_g @ w1.t()
    return diff.pow(2).mean()


# %% wrong: nothing but a docstring and dots | *: todo
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    """Forward pass, backward pass, and the loss."""
    ...


# %% wrong: helper functions that are not defined | *: error
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = lin(inp, w1, b1)
    l2 = relu(l1)
    out = lin(l2, w2, b2)
    loss = mse(out, targ)
    mse_grad(out, targ)
    lin_grad(l2, out, w2, b2)
    relu_grad(l1, l2)
    lin_grad(inp, l1, w1, b1)
    return loss


# %% wrong: inp.g never computed | inp.g: missing-answer
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    g = 2 * diff.unsqueeze(-1) / len(targ)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g = (g @ w2.t()) * (l1 > 0)
    w1.g, b1.g = inp.t() @ g, g.sum(0)
    return (diff**2).mean()


# %% wrong: inp.g stored under a local name only | inp.g: missing-answer
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    diff = out.squeeze(-1) - targ
    out.g = (2 * diff / len(targ)).unsqueeze(-1)
    w2.g = l2.t() @ out.g
    b2.g = out.g.sum(0)
    l2.g = out.g @ w2.t()
    l1.g = l2.g * (l1 > 0)
    w1.g = inp.t() @ l1.g
    b1.g = l1.g.sum(0)
    inp_g = l1.g @ w1.t()
    return (diff**2).mean()


# %% wrong: loss not returned | return: missing-answer
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    loss = (diff**2).mean()
    g = 2 * diff.unsqueeze(-1) / len(targ)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g = (g @ w2.t()) * (l1 > 0)
    w1.g, b1.g, inp.g = inp.t() @ g, g.sum(0), g @ w1.t()


# %% wrong: loss as formatted text | return: wrong-type
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    g = 2 * diff.unsqueeze(-1) / len(targ)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g = (g @ w2.t()) * (l1 > 0)
    w1.g, b1.g, inp.g = inp.t() @ g, g.sum(0), g @ w1.t()
    return f"{(diff**2).mean().item():.3f}"


# %% wrong: a training step in place | *: mutated-input
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    g = 2 * diff.unsqueeze(-1) / len(targ)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g = (g @ w2.t()) * (l1 > 0)
    w1.g, b1.g, inp.g = inp.t() @ g, g.sum(0), g @ w1.t()
    for p in (w1, b1, w2, b2):
        p -= 0.01 * p.g
    return (diff**2).mean()


# %% wrong: autograd through backward | *: used-autograd
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    ts = [t.clone().requires_grad_() for t in (inp, w1, b1, w2, b2)]
    x, a, c, d, e = ts
    loss = (((x @ a + c).relu() @ d + e).squeeze(-1) - targ).pow(2).mean()
    loss.backward()
    for t, copy in zip((inp, w1, b1, w2, b2), ts):
        t.g = copy.grad
    return loss.detach()


# %% wrong: entries of inp that are 0 get no gradient | inp.g: wrong-local
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    hidden = (inp @ w1 + b1).clamp_min(0)
    out = hidden @ w2 + b2
    error = out.squeeze(-1) - targ
    out_g = (2 * error / len(inp)).unsqueeze(-1)
    b2.g, w2.g = out_g.sum(0), hidden.t() @ out_g
    pre_g = out_g @ w2.t() * (hidden > 0)
    b1.g, w1.g = pre_g.sum(0), inp.t() @ pre_g
    inp.g = pre_g @ w1.t() * (inp != 0)
    return error.pow(2).mean()

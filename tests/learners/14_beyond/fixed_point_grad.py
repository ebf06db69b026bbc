# fixed_point_grad: out = (x + out @ w).tanh(), at rest

# %% right: iterated until it rests
import torch


def fixed_point_grad(x, w, out):
    d = 1 - out * out
    u = torch.zeros_like(out)
    for _ in range(1000):
        new = out.g + (u * d) @ w.T
        if (new - u).abs().max() < 1e-7:
            break
        u = new
    x.g = u * d
    w.g = out.T @ x.g


# %% right: one linear system for each row
import torch


def fixed_point_grad(x, w, out):
    n = len(w)
    x.g, w.g = torch.zeros_like(x), torch.zeros_like(w)
    for i in range(len(x)):
        d = torch.diag(1 - out[i] ** 2)
        u = torch.linalg.solve(torch.eye(n) - w @ d, out.g[i])
        x.g[i] = d @ u
        w.g += torch.outer(out[i], x.g[i])


# %% right: all systems at once
import torch


def fixed_point_grad(x, w, out):
    d = 1 - out**2
    a = torch.eye(out.shape[1]) - w * d[:, None, :]
    x.g = d * torch.linalg.solve(a, out.g[:, :, None]).squeeze(-1)
    w.g = torch.einsum('bi,bj->ij', out, x.g)


# %% right: in front of the tanh, iterated
import torch


def fixed_point_grad(x, w, out):
    h = torch.zeros_like(out)
    for _ in range(300):
        h = (1 - out**2) * (out.g + h @ w.t())
    x.g = h
    w.g = out.t() @ h


# %% wrong: one step only | x.g: missing-path or diagonal-only; w.g: follows
def fixed_point_grad(x, w, out):
    x.g = (1 - out**2) * out.g
    w.g = out.t() @ x.g


# %% wrong: once around | x.g: missing-path; w.g: follows
def fixed_point_grad(x, w, out):
    u = out.g + ((1 - out**2) * out.g) @ w.t()
    x.g = (1 - out**2) * u
    w.g = out.t() @ x.g


# %% wrong: ten times around | x.g: missing-path; w.g: follows
def fixed_point_grad(x, w, out):
    u = out.g
    for _ in range(10):
        u = out.g + ((1 - out**2) * u) @ w.t()
    x.g = (1 - out**2) * u
    w.g = out.t() @ x.g


# %% wrong: until the gradient changes by less than a hundredth | x.g: missing-path; w.g: follows
import torch


def fixed_point_grad(x, w, out):
    u, new = torch.zeros_like(out), out.g
    while (new - u).abs().max() > 0.01:
        u, new = new, out.g + ((1 - out**2) * new) @ w.t()
    x.g = (1 - out**2) * new
    w.g = out.t() @ x.g


# %% wrong: eight times around, in front of the tanh | x.g: missing-path; w.g: follows
import torch


def fixed_point_grad(x, w, out):
    x.g = torch.zeros_like(x)
    for _ in range(8):
        x.g = (1 - out**2) * (out.g + x.g @ w.t())
    w.g = out.t() @ x.g


# %% wrong: w not turned round in the loop | x.g: transposed; w.g: follows
def fixed_point_grad(x, w, out):
    u = out.g
    for _ in range(300):
        u = out.g + ((1 - out**2) * u) @ w
    x.g = (1 - out**2) * u
    w.g = out.t() @ x.g


# %% wrong: no tanh in the loop | x.g: missing-local; w.g: follows
def fixed_point_grad(x, w, out):
    u = out.g
    for _ in range(300):
        u = out.g + u @ w.t()
    x.g = (1 - out**2) * u
    w.g = out.t() @ x.g


# %% wrong: no tanh at the end, neither in the product with the output | x.g, w.g: missing-local
def fixed_point_grad(x, w, out):
    u = out.g
    for _ in range(300):
        u = out.g + ((1 - out**2) * u) @ w.t()
    x.g = u
    w.g = out.t() @ u


# %% wrong: no tanh at the end | x.g: missing-local; w.g: follows
def fixed_point_grad(x, w, out):
    u = out.g
    for _ in range(300):
        u = out.g + ((1 - out**2) * u) @ w.t()
    x.g = u
    w.g = out.t() @ x.g


# %% wrong: subtracted around the loop | x.g: wrong-sign; w.g: follows
def fixed_point_grad(x, w, out):
    u = out.g
    for _ in range(300):
        u = out.g - ((1 - out**2) * u) @ w.t()
    x.g = (1 - out**2) * u
    w.g = out.t() @ x.g


# %% wrong: x in place of out | w.g: wrong-operand
def fixed_point_grad(x, w, out):
    u = out.g
    for _ in range(300):
        u = out.g + ((1 - out**2) * u) @ w.t()
    x.g = (1 - out**2) * u
    w.g = x.t() @ x.g


# %% wrong: w.g turned round | w.g: transposed
def fixed_point_grad(x, w, out):
    u = out.g
    for _ in range(300):
        u = out.g + ((1 - out**2) * u) @ w.t()
    x.g = (1 - out**2) * u
    w.g = x.g.t() @ out


# %% wrong: upstream missing | x.g: missing-upstream; w.g: follows
import torch


def fixed_point_grad(x, w, out):
    u = torch.ones_like(out)
    for _ in range(300):
        u = 1 + ((1 - out**2) * u) @ w.t()
    x.g = (1 - out**2) * u
    w.g = out.t() @ x.g


# %% wrong: out.g forgotten in the loop | x.g: hard-coded or unknown or missing-path or wrong-factor or extra-factor; w.g: follows
def fixed_point_grad(x, w, out):
    u = out.g
    for _ in range(300):
        u = ((1 - out**2) * u) @ w.t()
    x.g = (1 - out**2) * u
    w.g = out.t() @ x.g


# %% wrong: averaged over the batch | w.g: mean-for-sum
def fixed_point_grad(x, w, out):
    u = out.g
    for _ in range(300):
        u = out.g + ((1 - out**2) * u) @ w.t()
    x.g = (1 - out**2) * u
    w.g = out.t() @ x.g / len(x)


# %% wrong: 1 - out in place of 1 - out squared | x.g: wrong-local or not-finite or unknown; w.g: follows or wrong-local or not-finite or unknown
def fixed_point_grad(x, w, out):
    u = out.g
    for _ in range(300):
        u = out.g + ((1 - out) * u) @ w.t()
    x.g = (1 - out) * u
    w.g = out.t() @ x.g


# %% wrong: slope behind w in the loop | x.g: wrong-point; w.g: follows
def fixed_point_grad(x, w, out):
    u = out.g
    for _ in range(300):
        u = out.g + (u @ w.t()) * (1 - out**2)
    x.g = (1 - out**2) * u
    w.g = out.t() @ x.g


# %% wrong: only what comes around | x.g: missing-path; w.g: follows
def fixed_point_grad(x, w, out):
    u = out.g
    for _ in range(300):
        u = out.g + ((1 - out**2) * u) @ w.t()
    u = u - out.g
    x.g = (1 - out**2) * u
    w.g = out.t() @ x.g


# %% wrong: solved with a system that is not transposed | x.g: transposed; w.g: follows
import torch


def fixed_point_grad(x, w, out):
    n = len(w)
    x.g = torch.zeros_like(x)
    for i in range(len(x)):
        d = torch.diag(1 - out[i] ** 2)
        x.g[i] = d @ torch.linalg.solve(torch.eye(n) - (w @ d).t(), out.g[i])
    w.g = out.t() @ x.g


# %% wrong: one matrix for all rows | x.g: partial-batch; w.g: follows
import torch


def fixed_point_grad(x, w, out):
    s = 1 - out * out
    inverse = torch.inverse(torch.eye(len(w), dtype=w.dtype) - s[0] * w)
    total = out.g @ inverse.T
    x.g = total * s
    w.g = out.T @ x.g

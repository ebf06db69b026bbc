# hvp_logistic: the gradient of (x.t() @ ((x @ w).sigmoid() - targ) / bs) @ v with respect to w

# %% right: three products
import torch


def hvp_logistic(w, x, targ, v):
    s = torch.sigmoid(x @ w)
    return x.T @ ((s * (1 - s)) * (x @ v)) / x.shape[0]


# %% right: a mean over the examples
import torch


def hvp_logistic(w, x, targ, v):
    z = x @ w
    bend = torch.exp(-z) / (1 + torch.exp(-z)) ** 2
    return ((bend * (x @ v))[:, None] * x).mean(0)


# %% right: example by example
import torch


def hvp_logistic(w, x, targ, v):
    total = torch.zeros_like(w)
    for row in x:
        p = 1 / (1 + torch.exp(-(row @ w)))
        total += p * (1 - p) * (row @ v) * row
    return total / len(x)


# %% right: einsum, float64
import torch


def hvp_logistic(w, x, targ, v):
    a = x.double()
    p = torch.special.expit(a @ w.double())
    return torch.einsum('bi,b,b->i', a, p - p * p, torch.einsum('bj,j->b', a, v.double())).div(len(a)).float()


# %% right: dual numbers by hand, from the gradient
def hvp_logistic(w, x, targ, v):
    z, dz = x @ w, x @ v
    p = z.sigmoid()
    error, derror = p - targ, p * p.neg().add(1) * dz
    assert error.shape == derror.shape
    return (derror[None] @ x).squeeze(0) / len(targ)


# %% wrong: the Hessian made and multiplied | return: memory
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    hessian = x.t() @ ((p * (1 - p))[:, None] * x) / len(x)
    return hessian @ v


# %% wrong: einsum with the Hessian in between | return: memory
import torch


def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return torch.einsum('bi,b,bj->ij', x, p * (1 - p), x) @ v / len(x)


# %% wrong: one einsum, which holds the Hessian in between as well | return: memory
import torch


def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return torch.einsum('bi,b,bj,j->i', x, p - p * p, x, v) / len(x)


# %% wrong: a diagonal matrix of the identity's size | return: memory
import torch


def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return torch.eye(len(w)) @ (x.t() @ (p * (1 - p) * (x @ v)) / len(x))


# %% wrong: one factor of the sigmoid's derivative | return: missing-local or wrong-local
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return x.t() @ (p * (x @ v)) / len(x)


# %% wrong: the other factor alone | return: missing-local
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return x.t() @ ((1 - p) * (x @ v)) / len(x)


# %% wrong: no sigmoid's derivative | return: missing-local
def hvp_logistic(w, x, targ, v):
    return x.t() @ (x @ v) / len(x)


# %% wrong: the division by bs missing | return: sum-for-mean or missing-local
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return x.t() @ (p * (1 - p) * (x @ v))


# %% wrong: divided by n | return: wrong-factor
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return x.t() @ (p * (1 - p) * (x @ v)) / len(w)


# %% wrong: the gradient returned | return: forward-value
def hvp_logistic(w, x, targ, v):
    return x.t() @ ((x @ w).sigmoid() - targ) / len(x)


# %% wrong: the gradient times v | return: forward-value
def hvp_logistic(w, x, targ, v):
    return x.t() @ ((x @ w).sigmoid() - targ) / len(x) * v


# %% wrong: the gradient at v | return: wrong-point
def hvp_logistic(w, x, targ, v):
    return x.t() @ ((x @ v).sigmoid() - targ) / len(x)


# %% wrong: the diagonal of the Hessian times v | return: diagonal-only
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return ((x**2) * (p * (1 - p))[:, None]).mean(0) * v


# %% wrong: sigmoid's derivative at x @ v | return: wrong-point or wrong-operand
def hvp_logistic(w, x, targ, v):
    p = (x @ v).sigmoid()
    return x.t() @ (p * (1 - p) * (x @ v)) / len(x)


# %% wrong: w in place of v | return: wrong-operand
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return x.t() @ (p * (1 - p) * (x @ w)) / len(x)


# %% wrong: error kept as a factor | return: extra-factor or wrong-local
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return x.t() @ (p * (1 - p) * (p - targ) * (x @ v)) / len(x)


# %% wrong: targ subtracted as well | return: wrong-operand
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return x.t() @ (p * (1 - p) * (x @ v) - targ) / len(x)


# %% wrong: the wrong sign | return: wrong-sign
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return -x.t() @ (p * (1 - p) * (x @ v)) / len(x)


# %% wrong: tanh's derivative | return: wrong-local
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return x.t() @ ((1 - p**2) * (x @ v)) / len(x)


# %% wrong: the sigmoid's derivative twice | return: extra-factor
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return x.t() @ ((p * (1 - p)) ** 2 * (x @ v)) / len(x)


# %% wrong: two gradients subtracted, a step apart | return: imprecise
def hvp_logistic(w, x, targ, v):
    def grad(w):
        return x.t() @ ((x @ w).sigmoid() - targ) / len(x)
    h = 1e-3
    return (grad(w + h * v) - grad(w - h * v)) / (2 * h)


# %% wrong: two gradients subtracted, v apart | return: wrong-point
def hvp_logistic(w, x, targ, v):
    def grad(w):
        return x.t() @ ((x @ w).sigmoid() - targ) / len(x)
    
    return grad(w + v) - grad(w)


# %% wrong: sum over the examples of v's scores only | return: wrong-shape or missing-path or error
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return (p * (1 - p) * (x @ v)) / len(x)


# %% wrong: one number, v @ H @ v | return: wrong-shape
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return (p * (1 - p) * (x @ v) ** 2).mean()


# %% wrong: Fisher's matrix | return: extra-factor
def hvp_logistic(w, x, targ, v):
    e = (x @ w).sigmoid() - targ
    return x.t() @ (e**2 * (x @ v)) / len(x)


# %% wrong: an l2 part that is not there | return: wrong-local or wrong-operand
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return x.t() @ (p * (1 - p) * (x @ v)) / len(x) + v


# %% wrong: autograd twice | return: used-autograd
import torch


def hvp_logistic(w, x, targ, v):
    w = w.clone().requires_grad_()
    g = x.t() @ ((x @ w).sigmoid() - targ) / len(x)
    return torch.autograd.grad(g @ v, w)[0]


# %% wrong: the gradient added | return: extra-factor
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return x.t() @ (p * (1 - p) * (x @ v) + p - targ) / len(x)


# %% wrong: the sigmoid's derivative averaged first | return: sum-of-products
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return x.t() @ ((p * (1 - p)).mean() * (x @ v)) / len(x)


# %% wrong: divided by n as well | return: mean-for-sum
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return x.t() @ (p * (1 - p) * (x @ v)) / x.numel()


# %% wrong: only the first example | return: partial-batch
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return x[0] * (p * (1 - p) * (x @ v))[0] / len(x)


# %% wrong: p plus p squared | return: wrong-sign
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return x.t() @ ((p + p**2) * (x @ v)) / len(x)


# %% wrong: w added to v | return: wrong-operand
def hvp_logistic(w, x, targ, v):
    p = (x @ w).sigmoid()
    return x.t() @ (p * (1 - p) * (x @ (w + v))) / len(x)


# %% wrong: the residual weights the rows | return: wrong-local
import torch


def hvp_logistic(w, x, targ, v):
    residual = torch.sigmoid(x @ w) - targ
    return torch.einsum("bn,b->n", x, residual * (x @ v)) / x.shape[0]

# logdet_grad: out = a.det().log()

# %% right: the inverse turned round
import torch


def logdet_grad(a, out):
    a.g = out.g * torch.linalg.inv(a).T


# %% right: solved against the identity
import torch


def logdet_grad(a, out):
    a.g = torch.linalg.solve(a.t(), torch.eye(len(a))) * out.g


# %% right: cofactors, one after the other
import torch


def logdet_grad(a, out):
    n = len(a)
    a.g = torch.zeros_like(a)
    for i in range(n):
        for j in range(n):
            rows = [k for k in range(n) if k != i]
            columns = [k for k in range(n) if k != j]
            minor = a[rows][:, columns].double()
            a.g[i, j] = (-1) ** (i + j) * torch.det(minor) / out.double().exp() * out.g


# %% wrong: not turned round | a.g: transposed
def logdet_grad(a, out):
    a.g = out.g * a.inverse()


# %% wrong: the determinant's gradient | a.g: extra-factor or missing-local
def logdet_grad(a, out):
    a.g = out.g * a.det() * a.inverse().t()


# %% wrong: divided by the determinant once more | a.g: wrong-factor or extra-factor or missing-local
def logdet_grad(a, out):
    a.g = out.g * a.inverse().t() / a.det()


# %% wrong: one over the determinant alone | a.g: unknown or missing-local or wrong-shape or broadcast-accident
import torch


def logdet_grad(a, out):
    a.g = out.g / a.det() * torch.ones_like(a)


# %% wrong: upstream missing | a.g: missing-upstream
def logdet_grad(a, out):
    a.g = a.inverse().t()


# %% wrong: wrong sign | a.g: wrong-sign
def logdet_grad(a, out):
    a.g = -out.g * a.inverse().t()


# %% wrong: only the diagonal | a.g: diagonal-only
import torch


def logdet_grad(a, out):
    a.g = out.g * torch.diag(a.inverse().diagonal())


# %% wrong: as if a were diagonal | a.g: wrong-local
import torch


def logdet_grad(a, out):
    a.g = out.g * torch.diag(1 / a.diagonal())


# %% wrong: one over each entry | a.g: elementwise-for-matmul
def logdet_grad(a, out):
    a.g = out.g / a


# %% wrong: transposed and not inverted | a.g: inverse-for-transpose
def logdet_grad(a, out):
    a.g = out.g * a.t()


# %% wrong: symmetric part, as for a covariance | a.g: wrong-local
def logdet_grad(a, out):
    inv = a.inverse()
    a.g = out.g * (inv + inv.t()) / 2


# %% wrong: twice the inverse less its diagonal, as for a symmetric matrix | a.g: wrong-local
import torch


def logdet_grad(a, out):
    inv = a.inverse()
    a.g = out.g * (2 * inv - torch.diag(inv.diagonal()))


# %% wrong: out as a factor | a.g: extra-factor or wrong-factor
def logdet_grad(a, out):
    a.g = out * out.g * a.inverse().t()


# %% wrong: a copy of a | a.g: forward-value
def logdet_grad(a, out):
    a.g = a.clone()


# %% wrong: the trace of the inverse | a.g: wrong-shape
def logdet_grad(a, out):
    a.g = out.g * a.inverse().trace()


# %% wrong: the determinant of the inverse turned round | a.g: wrong-shape
def logdet_grad(a, out):
    a.g = out.g * a.inverse().t().det()


# %% wrong: doubled | a.g: wrong-factor
def logdet_grad(a, out):
    a.g = 2 * out.g * a.inverse().t()


# %% wrong: upstream squared | a.g: extra-factor or not-linear
def logdet_grad(a, out):
    a.g = out.g**2 * a.inverse().t()

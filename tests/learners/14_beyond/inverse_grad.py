# inverse_grad: out = a.inverse()

# %% right: from out alone
def inverse_grad(a, out):
    a.g = -(out.T @ out.g @ out.T)


# %% right: two solves
import torch


def inverse_grad(a, out):
    half = torch.linalg.solve(a.T, out.g)
    a.g = -torch.linalg.solve(a.T, half, left=False)


# %% right: einsum
import torch


def inverse_grad(a, out):
    a.g = torch.einsum('ki,kl,jl->ij', out, -out.g, out)


# %% wrong: not turned round | a.g: transposed
def inverse_grad(a, out):
    a.g = -out @ out.g @ out


# %% wrong: left not turned round | a.g: transposed
def inverse_grad(a, out):
    a.g = -out @ out.g @ out.t()


# %% wrong: right not turned round | a.g: transposed
def inverse_grad(a, out):
    a.g = -out.t() @ out.g @ out


# %% wrong: upstream turned round | a.g: transposed
def inverse_grad(a, out):
    a.g = -out.t() @ out.g.t() @ out.t()


# %% wrong: all of it turned round | a.g: transposed
def inverse_grad(a, out):
    a.g = -(out.t() @ out.g @ out.t()).t()


# %% wrong: minus missing | a.g: wrong-sign
def inverse_grad(a, out):
    a.g = out.t() @ out.g @ out.t()


# %% wrong: squared entry by entry | a.g: elementwise-for-matmul
def inverse_grad(a, out):
    a.g = -out.g * out**2


# %% wrong: one over the square of each entry | a.g: elementwise-for-matmul
def inverse_grad(a, out):
    a.g = -out.g / a**2


# %% wrong: a in place of out | a.g: wrong-operand or wrong-point
def inverse_grad(a, out):
    a.g = -a.t() @ out.g @ a.t()


# %% wrong: only on the left | a.g: missing-path or missing-local
def inverse_grad(a, out):
    a.g = -out.t() @ out.g


# %% wrong: only on the right | a.g: missing-path or missing-local
def inverse_grad(a, out):
    a.g = -out.g @ out.t()


# %% wrong: both on the left | a.g: wrong-operand
def inverse_grad(a, out):
    a.g = -out.t() @ out.t() @ out.g


# %% wrong: upstream missing | a.g: missing-upstream
import torch


def inverse_grad(a, out):
    a.g = -out.t() @ torch.ones_like(out) @ out.t()


# %% wrong: upstream as the identity | a.g: missing-upstream or unknown or wrong-operand
def inverse_grad(a, out):
    a.g = -out.t() @ out.t()


# %% wrong: the upstream through the inverse once, as a linear map | a.g: missing-path or wrong-operand
def inverse_grad(a, out):
    a.g = out.t() @ out.g


# %% wrong: turned round entry by entry | a.g: elementwise-for-matmul or diagonal-only
def inverse_grad(a, out):
    a.g = -out.t() * out.g * out.t()


# %% wrong: minus missing, and not transposed | a.g: wrong-sign or transposed
def inverse_grad(a, out):
    a.g = out @ out.g @ out


# %% wrong: both on the right | a.g: wrong-operand
def inverse_grad(a, out):
    a.g = -out.g @ (out @ out).t()


# %% wrong: halved | a.g: wrong-factor
def inverse_grad(a, out):
    a.g = -out.t() @ out.g @ out.t() / 2

# solve_grad: out = a.inverse() @ b

# %% right: two lines with solve
import torch


def solve_grad(a, b, out):
    b.g = torch.linalg.solve(a.T, out.g)
    a.g = -torch.outer(b.g[:, 0], out[:, 0]) if b.shape[1] == 1 else -(b.g @ out.T)


# %% right: the inverse, made once
import torch


def solve_grad(a, b, out):
    inv = torch.linalg.inv(a)
    b.g = inv.T @ out.g
    a.g = -(inv.T @ out.g) @ (inv @ b).T


# %% right: left and right solves, from b alone
import torch


def solve_grad(a, b, out):
    again = torch.linalg.solve(a, b)
    b.g = torch.linalg.solve(a, out.g.T, left=False).T
    a.g = -torch.einsum('im,jm->ij', b.g, again)


# %% right: an LU decomposition, used in both directions
import torch


def solve_grad(a, b, out):
    lu, pivots = torch.linalg.lu_factor(a)
    b.g = torch.linalg.lu_solve(lu, pivots, out.g, adjoint=True)
    a.g = torch.zeros_like(a)
    for k in range(b.shape[1]):
        a.g -= b.g[:, k : k + 1] * out[:, k]


# %% wrong: solved with a itself | b.g: transposed; a.g: follows
import torch


def solve_grad(a, b, out):
    b.g = torch.linalg.solve(a, out.g)
    a.g = -b.g @ out.t()


# %% wrong: sign of a.g | a.g: wrong-sign
import torch


def solve_grad(a, b, out):
    b.g = torch.linalg.solve(a.t(), out.g)
    a.g = b.g @ out.t()


# %% wrong: b in place of out | a.g: wrong-operand or missing-local
import torch


def solve_grad(a, b, out):
    b.g = torch.linalg.solve(a.t(), out.g)
    a.g = -b.g @ b.t()


# %% wrong: a.g turned round | a.g: transposed
import torch


def solve_grad(a, b, out):
    b.g = torch.linalg.solve(a.t(), out.g)
    a.g = -out @ b.g.t()


# %% wrong: out.g in a.g without the solve | a.g: missing-path or missing-local
import torch


def solve_grad(a, b, out):
    b.g = torch.linalg.solve(a.t(), out.g)
    a.g = -out.g @ out.t()


# %% wrong: the transpose in place of the inverse | b.g: inverse-for-transpose or missing-local or wrong-operand; a.g: follows
import torch


def solve_grad(a, b, out):
    b.g = a.t() @ out.g
    a.g = -b.g @ out.t()


# %% wrong: a linear layer's gradients | b.g: inverse-for-transpose or missing-local or wrong-operand; a.g: wrong-operand or missing-local
import torch


def solve_grad(a, b, out):
    a.g = out.g @ b.t()
    b.g = a.t() @ out.g


# %% wrong: a times the upstream | b.g: wrong-operand or inverse-for-transpose
import torch


def solve_grad(a, b, out):
    b.g = a @ out.g
    a.g = -torch.linalg.solve(a.t(), out.g) @ out.t()


# %% wrong: upstream missing | b.g: missing-upstream; a.g: follows
import torch


def solve_grad(a, b, out):
    b.g = torch.linalg.solve(a.t(), torch.ones_like(out))
    a.g = -b.g @ out.t()


# %% wrong: both signs | b.g: wrong-sign; a.g: follows
import torch


def solve_grad(a, b, out):
    b.g = -torch.linalg.solve(a.t(), out.g)
    a.g = -b.g @ out.t()


# %% wrong: only a.g with a not turned round | a.g: transposed
import torch


def solve_grad(a, b, out):
    b.g = torch.linalg.solve(a.t(), out.g)
    a.g = -torch.linalg.solve(a, out.g) @ out.t()


# %% wrong: averaged over the columns | a.g: mean-for-sum
import torch


def solve_grad(a, b, out):
    b.g = torch.linalg.solve(a.t(), out.g)
    a.g = -b.g @ out.t() / b.shape[1]


# %% wrong: only the first column | a.g: partial-batch
import torch


def solve_grad(a, b, out):
    b.g = torch.linalg.solve(a.t(), out.g)
    a.g = -torch.outer(b.g[:, 0], out[:, 0])


# %% wrong: the upstream of a.g solved from the right side and turned | a.g: transposed or unknown
import torch


def solve_grad(a, b, out):
    b.g = torch.linalg.solve(a.t(), out.g)
    a.g = (-b.g @ out.t()).t()


# %% wrong: a.g forgotten | a.g: missing-answer or todo
import torch


def solve_grad(a, b, out):
    b.g = torch.linalg.solve(a.t(), out.g)


# %% wrong: b.g copied from out.g | b.g: missing-local
import torch


def solve_grad(a, b, out):
    b.g = out.g.clone()
    a.g = -torch.linalg.solve(a.t(), out.g) @ out.t()


# %% wrong: one over each entry of a | b.g: elementwise-for-matmul
import torch


def solve_grad(a, b, out):
    b.g = (1 / a).t() @ out.g
    a.g = -torch.linalg.solve(a.t(), out.g) @ out.t()


# %% wrong: as if a were symmetric, in a.g alone | a.g: wrong-local
import torch


def solve_grad(a, b, out):
    b.g = torch.linalg.solve(a.t(), out.g)
    g = b.g @ out.t()
    a.g = -(g + g.t()) / 2


# %% wrong: the inverse itself differentiated as a number | a.g: unknown or elementwise-for-matmul
import torch


def solve_grad(a, b, out):
    inv = a.inverse()
    b.g = inv.t() @ out.g
    a.g = -(inv**2) * (out.g @ b.t())


# %% wrong: b.g summed over its columns | b.g: summed-wrong-axis
import torch


def solve_grad(a, b, out):
    b.g = torch.linalg.solve(a.t(), out.g).sum(1, keepdim=True)
    a.g = -torch.linalg.solve(a.t(), out.g) @ out.t()


# %% wrong: b.g averaged over its columns | b.g: mean-for-sum
import torch


def solve_grad(a, b, out):
    b.g = torch.linalg.solve(a.t(), out.g) / b.shape[1]
    a.g = -torch.linalg.solve(a.t(), out.g) @ out.t()


# %% wrong: out.g in place of out | a.g: wrong-operand
import torch


def solve_grad(a, b, out):
    b.g = torch.linalg.solve(a.t(), out.g)
    a.g = -b.g @ out.g.t()


# %% wrong: upstream entries that are 0 divide | b.g: not-finite
def solve_grad(a, b, out):
    b_g = a.t().inverse() @ out.g
    a.g = -b_g @ out.t()
    b.g = b_g * out.g / out.g

# input_grad: f = x @ w + b

# %% right: einsum
from torch import einsum


def input_grad(x, w, b, df):
    return einsum("ij,j->i", w, df)


# %% right: transposed Jacobian times df
def input_grad(x, w, b, df):
    J = w.t()
    return J.t() @ df


# %% right: df times the Jacobian
def df_dx(x, w, b):
    return w.t()
def input_grad(x, w, b, df):
    return df @ df_dx(x, w, b)


# %% right: a sum over the outputs, column by column
def input_grad(x, w, b, df):
    total = 0
    for j in range(len(df)):
        total = total + w[:, j] * df[j]
    return total


# %% right: comprehensions over plain floats
import torch


def input_grad(x, w, b, df):
    n, m = w.shape
    answer = [sum(w[i, j].item() * df[j].item() for j in range(m)) for i in range(n)]
    return torch.tensor(answer, dtype=x.dtype)


# %% right: products of rows with df, summed
def input_grad(x, w, b, df):
    return (w * df).sum(-1)


# %% wrong: upstream gradient missing, w summed over the outputs | return: missing-upstream
def input_grad(x, w, b, df):
    # each x[i] reaches every output through w[i, j]
    return w.sum(1)


# %% wrong: multiplied by x | return: extra-factor
def input_grad(x, w, b, df):
    return x * (w @ df)


# %% wrong: only the first output | return: missing-path or partial-batch
def input_grad(x, w, b, df):
    return w[:, 0] * df[0]


# %% wrong: a loop that stops before the last output | return: missing-path or partial-batch
import torch


def input_grad(x, w, b, df):
    g = torch.zeros_like(x)
    for j in range(len(df) - 1):
        g += w[:, j] * df[j]
    return g


# %% wrong: largest product instead of the sum | return: partial-batch or unknown
def input_grad(x, w, b, df):
    return (w * df).max(1).values


# %% wrong: mean over the outputs instead of their sum | return: mean-for-sum
def input_grad(x, w, b, df):
    return (w * df).mean(dim=1)


# %% wrong: w summed over the outputs, then multiplied by the sum of df | return: sum-of-products
def input_grad(x, w, b, df):
    return w.sum(dim=1) * df.sum()


# %% wrong: w reshaped instead of transposed | return: reshape-for-transpose
def input_grad(x, w, b, df):
    n, m = w.shape
    return df @ w.reshape(m, n)


# %% wrong: products never summed over the outputs | return: elementwise-for-matmul
def input_grad(x, w, b, df):
    return w * df


# %% wrong: only the diagonal of w | return: diagonal-only
import torch


def input_grad(x, w, b, df):
    g = torch.zeros_like(x)
    for i in range(min(w.shape)):
        g[i] = w[i, i] * df[i]
    return g


# %% wrong: w squared | return: wrong-operand
def input_grad(x, w, b, df):
    return w**2 @ df


# %% wrong: b used in place of df | return: value-for-gradient or wrong-operand
def input_grad(x, w, b, df):
    return w @ b


# %% wrong: f used in place of df | return: value-for-gradient
def input_grad(x, w, b, df):
    f = x @ w + b
    return w @ f


# %% wrong: pseudo-inverse of w in place of its transpose | return: inverse-for-transpose
import torch


def input_grad(x, w, b, df):
    # f = x @ w, so x = f @ w^-1
    return df @ torch.linalg.pinv(w)


# %% wrong: a loop that overwrites instead of adding | return: overwritten or partial-batch
import torch


def input_grad(x, w, b, df):
    g = torch.zeros_like(x)
    for j in range(len(df)):
        g = w[:, j] * df[j]
    return g


# %% wrong: bias added to df | return: wrong-local or wrong-operand
def input_grad(x, w, b, df):
    return w @ (df + b)


# %% wrong: bias added to the result | return: error
def input_grad(x, w, b, df):
    return w @ df + b


# %% wrong: df times w, not transposed | return: error
def input_grad(x, w, b, df):
    return df @ w


# %% wrong: transpose of w in the place where w belongs | *: error
def input_grad(x, w, b, df):
    return w.t() @ df


# %% wrong: the answer as one column | return: wrong-shape
def input_grad(x, w, b, df):
    return w @ df.unsqueeze(1)


# %% wrong: summed over the inputs instead of the outputs | return: wrong-shape or summed-wrong-axis
def input_grad(x, w, b, df):
    return (w * df).sum(0)


# %% wrong: only from the outputs that the loss reacts to, by their average | return: wrong-local or unknown
def input_grad(x, w, b, df):
    used = df != 0
    return (w * df).sum(1) * len(df) / used.sum()

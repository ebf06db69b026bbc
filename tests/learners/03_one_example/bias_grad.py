# bias_grad: f = x @ w + b

# %% right: df itself
def bias_grad(x, w, b, df):
    return df


# %% right: the Jacobian of the bias times df
import torch


def df_db(x, w, b):
    return torch.eye(len(b))


def bias_grad(x, w, b, df):
    return torch.matmul(df, df_db(x, w, b))


# %% wrong: ones, without the upstream gradient | return: missing-upstream
import torch
def bias_grad(x, w, b, df):
    return torch.ones_like(b)


# %% wrong: multiplied by the bias | return: extra-factor or wrong-operand
def bias_grad(x, w, b, df):
    return df * b


# %% wrong: mean of df in every entry | return: summed-wrong-axis or mean-for-sum
import torch


def bias_grad(x, w, b, df):
    return torch.ones_like(b) * df.mean()


# %% wrong: an extra minus sign | return: wrong-sign
def bias_grad(x, w, b, df):
    return -df


# %% wrong: the learning rate multiplied in | return: wrong-factor
lr = 0.1


def bias_grad(x, w, b, df):
    return lr * df


# %% wrong: the output f | return: forward-value
def bias_grad(x, w, b, df):
    f = x @ w + b
    return f


# %% wrong: the bias itself | return: forward-value
def bias_grad(x, w, b, df):
    return b


# %% wrong: the bias after an update | return: wrong-local
def bias_grad(x, w, b, df):
    return b - 0.1 * df


# %% wrong: an empty file | return: missing-function


# %% wrong: sys.exit called | return: crash
import sys


def bias_grad(x, w, b, df):
    if b.shape == df.shape:
        sys.exit("shapes agree, done")
    return df


# %% wrong: a list | return: wrong-type
def bias_grad(x, w, b, df):
    return df.tolist()


# %% wrong: df on the diagonal of a matrix | return: wrong-shape
import torch


def bias_grad(x, w, b, df):
    return torch.eye(len(b), dtype=b.dtype) * df


# %% wrong: df summed to one number | return: wrong-shape or summed-wrong-axis
def bias_grad(x, w, b, df):
    return df.sum()

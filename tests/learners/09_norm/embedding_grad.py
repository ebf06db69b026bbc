# embedding_grad: out = w[idx]

# %% right: a loop over every place
import torch


def embedding_grad(idx, w, out):
    w.g = torch.zeros(w.shape)
    for i in range(idx.shape[0]):
        for j in range(idx.shape[1]):
            w.g[idx[i, j]] += out.g[i, j]


# %% right: a one-hot matrix, einsum, float64
import torch


def embedding_grad(idx, w, out):
    hot = torch.nn.functional.one_hot(idx, w.shape[0]).double()
    w.g = torch.einsum("btv,btn->vn", hot, out.g.double()).float()


# %% right: index_put_ that accumulates
import torch


def embedding_grad(idx, w, out):
    grad = torch.zeros_like(w)
    grad.index_put_((idx,), out.g, accumulate=True)
    w.g = grad


# %% right: scatter_add along the rows
import torch


def embedding_grad(idx, w, out):
    where = idx.reshape(-1, 1).expand(-1, w.shape[1])
    w.g = torch.zeros_like(w).scatter_add(0, where, out.g.reshape(-1, w.shape[1]))


# %% right: one row of w after the other, NumPy
import numpy as np
import torch


def embedding_grad(idx, w, out):
    grad = np.zeros(tuple(w.shape))
    np.add.at(grad, idx.numpy(), out.g.numpy())
    w.g = torch.from_numpy(grad).float()


# %% right: a transposed matrix product, not contiguous
import torch


def embedding_grad(idx, w, out):
    places = (idx.reshape(-1, 1) == torch.arange(len(w))).float()
    w.g = (out.g.reshape(-1, w.shape[1]).t() @ places).t()


# %% wrong: assigned, so that the last of several wins | w.g: overwritten
import torch


def embedding_grad(idx, w, out):
    w.g = torch.zeros_like(w)
    w.g[idx] = out.g


# %% wrong: += through repeated indices, which keeps one | w.g: overwritten
import torch


def embedding_grad(idx, w, out):
    w.g = torch.zeros_like(w)
    w.g[idx] += out.g


# %% wrong: each row counts how often it was used | w.g: missing-upstream
import torch


def embedding_grad(idx, w, out):
    count = torch.bincount(idx.reshape(-1), minlength=len(w)).float()
    w.g = count[:, None].expand(w.shape).clone()


# %% wrong: divided by how often the row was used | w.g: mean-for-sum
import torch


def embedding_grad(idx, w, out):
    total = torch.zeros_like(w).index_add(0, idx.flatten(), out.g.flatten(0, 1))
    count = torch.bincount(idx.flatten(), minlength=len(w)).clamp(min=1)
    w.g = total / count[:, None]


# %% wrong: out used in place of out.g | w.g: value-for-gradient
import torch


def embedding_grad(idx, w, out):
    w.g = torch.zeros_like(w).index_add(0, idx.flatten(), out.flatten(0, 1))


# %% wrong: shaped like out | w.g: wrong-shape or missing-local
def embedding_grad(idx, w, out):
    w.g = out.g.clone()


# %% wrong: looked up once more on the way back | w.g: wrong-shape or error
def embedding_grad(idx, w, out):
    w.g = out.g[idx]


# %% wrong: multiplied by w | w.g: extra-factor or wrong-operand
import torch


def embedding_grad(idx, w, out):
    w.g = w * torch.zeros_like(w).index_add(0, idx.flatten(), out.g.flatten(0, 1))


# %% wrong: only the first sentence of the batch | w.g: partial-batch or missing-path
import torch


def embedding_grad(idx, w, out):
    w.g = torch.zeros_like(w).index_add(0, idx[0], out.g[0])


# %% wrong: only the first word of each sentence | w.g: missing-path or partial-batch
import torch


def embedding_grad(idx, w, out):
    w.g = torch.zeros_like(w).index_add(0, idx[:, 0], out.g[:, 0])


# %% wrong: averaged over the batch | w.g: mean-for-sum
import torch


def embedding_grad(idx, w, out):
    w.g = torch.zeros_like(w).index_add(0, idx.flatten(), out.g.flatten(0, 1)) / idx.shape[0]


# %% wrong: every row of w gets the sum of all places | w.g: extra-batch-sum or wrong-local or unknown or summed-wrong-axis
def embedding_grad(idx, w, out):
    w.g = out.g.sum((0, 1)).expand(w.shape).clone()


# %% wrong: the step already taken from w | w.g: wrong-local or forward-value or unknown
import torch


def embedding_grad(idx, w, out):
    w.g = w - torch.zeros_like(w).index_add(0, idx.flatten(), out.g.flatten(0, 1))


# %% wrong: the table too long by one row | w.g: wrong-shape
import torch


def embedding_grad(idx, w, out):
    w.g = torch.zeros(len(w) + 1, w.shape[1]).index_add(0, idx.flatten(), out.g.flatten(0, 1))


# %% wrong: sign turned round | w.g: wrong-sign
import torch


def embedding_grad(idx, w, out):
    w.g = torch.zeros_like(w).index_add(0, idx.flatten(), -out.g.flatten(0, 1))


# %% wrong: divided by the number of places | w.g: wrong-factor or mean-for-sum
def embedding_grad(idx, w, out):
    w.g = w.new_zeros(w.shape).index_add(0, idx.flatten(), out.g.flatten(0, 1)) / idx.numel()


# %% wrong: idx transposed | w.g: reshape-for-transpose or transposed or wrong-operand or unknown
def embedding_grad(idx, w, out):
    w.g = w.new_zeros(w.shape).index_add(0, idx.t().flatten(), out.g.flatten(0, 1))


# %% wrong: a row of zeros is taken for padding | w.g: wrong-local
import torch


def embedding_grad(idx, w, out):
    w.g = torch.zeros_like(w).index_add(0, idx.flatten(), out.g.flatten(0, 1))
    w.g[(w == 0).all(1)] = 0


# %% wrong: index_put without adding, in each sentence | w.g: overwritten
import torch


def embedding_grad(idx, w, out):
    w.g = torch.zeros_like(w)
    for i in range(len(idx)):
        one = torch.zeros_like(w)
        one[idx[i]] = out.g[i]
        w.g = w.g + one


# %% wrong: the table is as long as the largest word number | w.g: wrong-shape
def embedding_grad(idx, w, out):
    w.g = w.new_zeros(int(idx.max()) + 1, w.shape[1])
    w.g.index_add_(0, idx.flatten(), out.g.flatten(0, 1))

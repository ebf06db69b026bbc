# index_grad: out = inp[idx]

# %% right: index_put that accumulates
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp).index_put((idx,), out.g, accumulate=True)


# %% right: a comparison with all rows, times out.g
import torch


def index_grad(inp, out, idx):
    inp.g = (torch.arange(len(inp))[:, None] == idx[None]).to(out.g) @ out.g


# %% right: NumPy's add.at
import numpy as np
import torch


def index_grad(inp, out, idx):
    g = np.zeros(tuple(inp.shape), dtype="float32")
    np.add.at(g, idx.numpy(), out.g.numpy())
    inp.g = torch.from_numpy(g)


# %% right: a one-hot matrix by comparison
import torch


def index_grad(inp, out, idx):
    onehot = (idx.unsqueeze(1) == torch.arange(len(inp))).float()
    inp.g = onehot.t() @ out.g


# %% right: torch's one_hot
import torch


def index_grad(inp, out, idx):
    hot = torch.nn.functional.one_hot(idx, len(inp)).to(out.g.dtype)
    inp.g = hot.T @ out.g


# %% right: a loop that adds row by row
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    for place in range(len(idx)):
        inp.g[idx[place]] += out.g[place]


# %% right: sorted indices, run by run
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    order = idx.argsort()
    rows, counts = idx[order].unique_consecutive(return_counts=True)
    for row, part in zip(rows, out.g[order].split(counts.tolist())):
        inp.g[row] = part.sum(0)


# %% right: a sum for each row over those who picked it
import torch


def index_grad(inp, out, idx):
    inp.g = torch.stack([out.g[idx == row].sum(0) for row in range(inp.shape[0])])


# %% wrong: rows counted, without the upstream gradient | inp.g: missing-upstream
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    for i in idx:
        inp.g[i] += 1


# %% wrong: out.g itself | inp.g: missing-local or wrong-shape
def index_grad(inp, out, idx):
    inp.g = out.g


# %% wrong: multiplied by out | inp.g: extra-factor
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp).index_add(0, idx, out.g * inp[idx])


# %% wrong: repeats added only where they follow each other | inp.g: partial-batch or overwritten
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    for k in range(len(idx)):
        if k > 0 and idx[k] == idx[k - 1]:
            inp.g[idx[k]] += out.g[k]
        else:
            inp.g[idx[k]] = out.g[k]


# %% wrong: first pick left out | inp.g: partial-batch
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    for k in range(1, len(idx)):
        inp.g[idx[k]] += out.g[k]


# %% wrong: averaged over the repeats of a row | inp.g: mean-for-sum
import torch


def index_grad(inp, out, idx):
    total = inp.new_zeros(inp.shape).index_add(0, idx, out.g)
    count = torch.bincount(idx, minlength=len(inp)).clamp_min(1)
    inp.g = total / count.unsqueeze(1)


# %% wrong: mean of out.g over its rows in every row | inp.g: summed-wrong-axis or wrong-local
def index_grad(inp, out, idx):
    inp.g = out.g.mean(0, keepdim=True).expand_as(inp)


# %% wrong: an extra minus sign | inp.g: wrong-sign
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp).index_add(0, idx, out.g, alpha=-1)


# %% wrong: out used in place of out.g | inp.g: value-for-gradient
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp).index_add(0, idx, out)


# %% wrong: assigned at the indices instead of added | inp.g: overwritten
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    inp.g[idx] = out.g


# %% wrong: a loop that assigns instead of adding | inp.g: overwritten
import torch


def index_grad(inp, out, idx):
    g = torch.zeros(inp.shape)
    for place, row in enumerate(idx):
        g[row] = out.g[place]
    inp.g = g


# %% wrong: added at the indices, where repeats count once | inp.g: overwritten
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    inp.g[idx] += out.g


# %% wrong: scatter without adding | inp.g: overwritten
import torch


def index_grad(inp, out, idx):
    where = idx.unsqueeze(1).expand_as(out.g)
    inp.g = torch.zeros_like(inp).scatter_(0, where, out.g)


# %% wrong: only the first of the repeats, by a set of rows seen | inp.g: overwritten
import torch


def index_grad(inp, out, idx):
    g, seen = torch.zeros_like(inp), set()
    for place, row in enumerate(idx.tolist()):
        if row not in seen:
            g[row] = out.g[place]
            seen.add(row)
    inp.g = g


# %% wrong: only the first of the repeats, by a loop from the end | inp.g: overwritten or partial-batch
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    for row in reversed(range(len(idx))):
        inp.g[idx[row]] = out.g[row]


# %% wrong: index_add along the columns | inp.g: error
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp).index_add(1, idx, out.g)


# %% wrong: out.g indexed once more | inp.g: error or wrong-shape or transposed
def index_grad(inp, out, idx):
    inp.g = out.g[idx]


# %% wrong: rows of out.g picked for the rows of inp | inp.g: error or wrong-operand or transposed or unknown
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    for i in range(len(idx)):
        inp.g[i] += out.g[idx[i]]


# %% wrong: out.g added to the first rows | inp.g: error or wrong-operand
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    inp.g[: len(idx)] += out.g


# %% wrong: rows looked up by their values, equal ones as one | inp.g: wrong-local
import torch


def index_grad(inp, out, idx):
    inp.g = torch.zeros_like(inp)
    for row, g in zip(out, out.g):
        place = next(i for i, line in enumerate(inp) if (line == row).any())
        inp.g[place] += g


# %% wrong: the one-hot table viewed in its transposed shape | inp.g: reshape-for-transpose
import torch
import torch.nn.functional as F


def index_grad(inp, out, idx):
    hot = F.one_hot(idx, len(inp)).to(out.g.dtype)
    inp.g = torch.mm(hot.view(len(inp), len(idx)), out.g)

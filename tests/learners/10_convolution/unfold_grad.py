# unfold_grad: out = inp.unfold(-1, size, step)

# %% right: fold of torch, in two dimensions
import torch
import torch.nn.functional as F


def unfold_grad(inp, out, size, step):
    used = (out.shape[1] - 1) * step + size
    folded = F.fold(out.g.transpose(1, 2), (1, used), (1, size), stride=(1, step))
    inp.g = F.pad(folded[:, 0, 0], (0, inp.shape[1] - used))


# %% right: index_add along the windows' places
import torch


def unfold_grad(inp, out, size, step):
    places = torch.arange(inp.shape[1]).unfold(0, size, step).reshape(-1)
    inp.g = torch.zeros_like(inp).index_add(1, places, out.g.flatten(1))


# %% right: an einsum with a table of who went where, float64
import torch


def unfold_grad(inp, out, size, step):
    table = torch.eye(inp.shape[1]).double().unfold(-1, size, step)
    inp.g = torch.einsum("bws,tws->bt", out.g.double(), table).float()


# %% right: one place in the window at a time
import torch


def unfold_grad(inp, out, size, step):
    inp.g = torch.zeros(inp.shape)
    for j in range(size):
        last = j + (out.shape[1] - 1) * step + 1
        inp.g[:, j:last:step] += out.g[..., j]


# %% wrong: assigned, so that the last window wins | inp.g: overwritten
import torch


def unfold_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[1]):
        inp.g[:, i * step : i * step + size] = out.g[:, i]


# %% wrong: averaged over the windows that overlap | inp.g: mean-for-sum
import torch


def unfold_grad(inp, out, size, step):
    inp.g, count = torch.zeros_like(inp), torch.zeros_like(inp)
    for i in range(out.shape[1]):
        inp.g[:, i * step : i * step + size] += out.g[:, i]
        count[:, i * step : i * step + size] += 1
    inp.g = inp.g / count.clamp(min=1)


# %% wrong: how often each place was used | inp.g: missing-upstream
import torch


def unfold_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[1]):
        inp.g[:, i * step : i * step + size] += 1


# %% wrong: windows laid side by side | inp.g: hard-coded or wrong-local or error or unknown
import torch


def unfold_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[1]):
        part = inp.g[:, i * size : i * size + size]
        part += out.g[:, i, : part.shape[1]]


# %% wrong: step taken as 1 | inp.g: hard-coded
import torch


def unfold_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[1]):
        inp.g[:, i : i + size] += out.g[:, i]


# %% wrong: only the first entry of each window | inp.g: missing-path or partial-batch
import torch


def unfold_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[1]):
        inp.g[:, i * step] += out.g[:, i, 0]


# %% wrong: windows turned round | inp.g: wrong-operand or reshape-for-transpose or transposed or wrong-local
import torch


def unfold_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[1]):
        inp.g[:, i * step : i * step + size] += out.g[:, i].flip(-1)


# %% wrong: the last window forgotten | inp.g: missing-path or partial-batch or unknown
import torch


def unfold_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[1] - 1):
        inp.g[:, i * step : i * step + size] += out.g[:, i]


# %% wrong: out used for out.g | inp.g: value-for-gradient
import torch


def unfold_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[1]):
        inp.g[:, i * step : i * step + size] += out[:, i]


# %% wrong: windows summed away | inp.g: wrong-shape
def unfold_grad(inp, out, size, step):
    inp.g = out.g.sum(1)


# %% wrong: as long as the windows reach | inp.g: wrong-shape or hard-coded or shape-special
import torch


def unfold_grad(inp, out, size, step):
    inp.g = torch.zeros(inp.shape[0], (out.shape[1] - 1) * step + size)
    for i in range(out.shape[1]):
        inp.g[:, i * step : i * step + size] += out.g[:, i]


# %% wrong: multiplied by the input | inp.g: extra-factor or wrong-operand
import torch


def unfold_grad(inp, out, size, step):
    total = torch.zeros_like(inp)
    for i in range(out.shape[1]):
        total[:, i * step : i * step + size] += out.g[:, i]
    inp.g = total * inp


# %% wrong: every window one place too late | inp.g: unknown or wrong-local or error or wrong-operand
import torch


def unfold_grad(inp, out, size, step):
    total = torch.zeros(inp.shape[0], inp.shape[1] + 1)
    for i in range(out.shape[1]):
        total[:, i * step + 1 : i * step + 1 + size] += out.g[:, i]
    inp.g = total[:, :-1]


# %% wrong: divided by the size of a window | inp.g: wrong-factor or mean-for-sum
import torch


def unfold_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[1]):
        inp.g[:, i * step : i * step + size] += out.g[:, i] / size


# %% wrong: step for size | inp.g: error or missing-path
def unfold_grad(inp, out, size, step):
    inp.g = inp.new_zeros(inp.shape)
    for i in range(out.shape[1]):
        inp.g[:, i * step : i * step + step] += out.g[:, i, :step]


# %% wrong: a view in which places stand in front of windows | inp.g: reshape-for-transpose
import torch


def unfold_grad(inp, out, size, step):
    count = out.shape[1]
    by_place = out.g.contiguous().view(len(inp), size, count)
    inp.g = torch.zeros_like(inp)
    for i in range(count):
        for j in range(size):
            inp.g[:, i * step + j] += by_place[:, j, i]


# %% wrong: while the window ends before the last entry | inp.g: partial-batch
import torch


def unfold_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    i = 0
    while i * step + size < inp.shape[1]:
        inp.g[:, i * step : i * step + size] += out.g[:, i]
        i += 1

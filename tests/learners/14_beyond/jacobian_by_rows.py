# jacobian_by_rows: every row of the Jacobian by one pass of reverse mode

# %% right: a loop and one upstream gradient for each output
import torch


def jacobian_by_rows(vjp, x, m):
    rows = []
    for j in range(m):
        u = torch.zeros(m)
        u[j] = 1
        rows.append(vjp(x, u))
    return torch.stack(rows)


# %% right: filled row by row
def jacobian_by_rows(vjp, x, m):
    jacobian = x.new_empty(m, len(x))
    for j in range(m):
        u = x.new_zeros(m)
        u[j] = 1.0
        jacobian[j] = vjp(x, u)
    return jacobian


# %% right: the basis from a comparison, in float64
import torch


def jacobian_by_rows(vjp, x, m):
    places = torch.arange(m)
    return torch.cat([vjp(x.double(), (places == j).double())[None] for j in range(m)]).float()


# %% right: differences of running sums
import torch


def jacobian_by_rows(vjp, x, m):
    sums = [torch.zeros_like(x)] + [vjp(x, (torch.arange(m) <= j).to(x.dtype)) for j in range(m)]
    return torch.stack([b - a for a, b in zip(sums, sums[1:])])


# %% wrong: rows stacked as columns | return: transposed
import torch


def jacobian_by_rows(vjp, x, m):
    rows = []
    for j in range(m):
        u = torch.zeros(m)
        u[j] = 1
        rows.append(vjp(x, u))
    return torch.stack(rows, 1)


# %% wrong: all outputs at once | return: extra-batch-sum
import torch


def jacobian_by_rows(vjp, x, m):
    rows = []
    for j in range(m):
        u = torch.ones(m)
        rows.append(vjp(x, u))
    return torch.stack(rows)


# %% wrong: upstream gradient never reset | return: stale-gradient
import torch


def jacobian_by_rows(vjp, x, m):
    rows = []
    u = torch.zeros(m)
    for j in range(m):
        u[j] = 1
        rows.append(vjp(x, u))
    return torch.stack(rows)


# %% wrong: a pass for each input | return: error or wrong-shape
import torch


def jacobian_by_rows(vjp, x, m):
    rows = []
    for j in range(len(x)):
        u = torch.zeros(m)
        u[j] = 1
        rows.append(vjp(x, u))
    return torch.stack(rows)


# %% wrong: the upstream gradient as long as x | return: error or wrong-shape or shape-special
import torch


def jacobian_by_rows(vjp, x, m):
    rows = []
    for j in range(len(x)):
        u = torch.zeros_like(x)
        u[j] = 1
        rows.append(vjp(x, u))
    return torch.stack(rows)


# %% wrong: times x | return: extra-factor
import torch


def jacobian_by_rows(vjp, x, m):
    rows = []
    for j in range(m):
        u = torch.zeros(m)
        u[j] = 1
        rows.append(vjp(x, u) * x)
    return torch.stack(rows)


# %% wrong: rows added | return: wrong-shape or summed-wrong-axis
import torch


def jacobian_by_rows(vjp, x, m):
    rows = []
    for j in range(m):
        u = torch.zeros(m)
        u[j] = 1
        rows.append(vjp(x, u))
    return sum(rows)


# %% wrong: rows end to end | return: wrong-shape
import torch


def jacobian_by_rows(vjp, x, m):
    rows = []
    for j in range(m):
        u = torch.zeros(m)
        u[j] = 1
        rows.append(vjp(x, u))
    return torch.cat(rows)


# %% wrong: rows end to end and reshaped the wrong way | return: reshape-for-transpose or wrong-shape
import torch


def jacobian_by_rows(vjp, x, m):
    rows = []
    for j in range(m):
        u = torch.zeros(m)
        u[j] = 1
        rows.append(vjp(x, u))
    return torch.stack(rows).reshape(len(x), m).t()


# %% wrong: list of rows | return: wrong-type
import torch


def jacobian_by_rows(vjp, x, m):
    rows = []
    for j in range(m):
        u = torch.zeros(m)
        u[j] = 1
        rows.append(vjp(x, u))
    return rows


# %% wrong: last output forgotten | return: wrong-shape
import torch


def jacobian_by_rows(vjp, x, m):
    rows = []
    for j in range(m - 1):
        u = torch.zeros(m)
        u[j] = 1
        rows.append(vjp(x, u))
    return torch.stack(rows)


# %% wrong: rows in the other order | return: wrong-operand
import torch


def jacobian_by_rows(vjp, x, m):
    rows = []
    for j in range(m):
        u = torch.zeros(m)
        u[j] = 1
        rows.append(vjp(x, u))
    return torch.stack(rows[::-1])


# %% wrong: counted from one, the last one first | return: wrong-operand
import torch


def jacobian_by_rows(vjp, x, m):
    rows = []
    for j in range(m):
        u = torch.zeros(m)
        u[j - 1] = 1
        rows.append(vjp(x, u))
    return torch.stack(rows)


# %% wrong: j for 1 in the upstream gradient | return: wrong-factor or hard-coded or unknown
import torch


def jacobian_by_rows(vjp, x, m):
    rows = []
    for j in range(m):
        u = torch.zeros(m)
        u[j] = j + 1
        rows.append(vjp(x, u))
    return torch.stack(rows)


# %% wrong: divided by m | return: mean-for-sum
import torch


def jacobian_by_rows(vjp, x, m):
    rows = []
    for j in range(m):
        u = torch.zeros(m)
        u[j] = 1
        rows.append(vjp(x, u))
    return torch.stack(rows) / m


# %% wrong: arguments exchanged | return: error or unknown or wrong-shape
import torch


def jacobian_by_rows(vjp, x, m):
    rows = []
    for j in range(m):
        u = torch.zeros(m)
        u[j] = 1
        rows.append(vjp(u, x))
    return torch.stack(rows)


# %% wrong: x as upstream gradient | return: error or unknown or wrong-shape
import torch


def jacobian_by_rows(vjp, x, m):
    rows = []
    for j in range(m):
        u = torch.zeros(m)
        u[j] = 1
        rows.append(vjp(x, x))
    return torch.stack(rows)


# %% wrong: negated | return: wrong-sign
import torch


def jacobian_by_rows(vjp, x, m):
    rows = []
    for j in range(m):
        u = torch.zeros(m)
        u[j] = -1
        rows.append(vjp(x, u))
    return torch.stack(rows)


# %% wrong: only one row asked for, copied | return: partial-batch or wrong-operand or unknown
import torch


def jacobian_by_rows(vjp, x, m):
    rows = []
    for j in range(m):
        u = torch.zeros(m)
        u[j] = 1
        rows.append(vjp(x, u))
    return rows[0].repeat(m, 1)


# %% wrong: only as many rows as there are inputs | return: partial-batch
import torch


def jacobian_by_rows(vjp, x, m):
    table = torch.zeros(m, len(x), dtype=x.dtype)
    for j in range(min(m, len(x))):
        u = torch.zeros(m, dtype=x.dtype)
        u[j] = 1
        table[j] = vjp(x, u)
    return table


# %% wrong: first output skipped | return: partial-batch
import torch


def jacobian_by_rows(vjp, x, m):
    table = torch.zeros(m, len(x), dtype=x.dtype)
    for j in range(1, m):
        u = torch.zeros(m, dtype=x.dtype)
        u[j] = 1
        table[j] = vjp(x, u)
    return table


# %% wrong: last row for all | return: wrong-operand
import torch


def jacobian_by_rows(vjp, x, m):
    table = torch.zeros(m, len(x), dtype=x.dtype)
    for j in range(m):
        u = torch.zeros(m, dtype=x.dtype)
        u[j] = 1
        table[:] = vjp(x, u)
    return table

import torch


def max_grad(inp, out, dim):
    groups = inp.movedim(dim, -1)
    flat = groups.reshape(-1, groups.shape[-1])
    g = torch.zeros(flat.shape)
    for i, (row, up) in enumerate(zip(flat, out.g.reshape(-1))):
        g[i, row.tolist().index(max(row.tolist()))] = up
    inp.g = g.reshape(groups.shape).movedim(-1, dim)

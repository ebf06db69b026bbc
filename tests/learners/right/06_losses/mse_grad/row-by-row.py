import torch


def mse_grad(inp, targ):
    rows = []
    for x, t in zip(inp, targ):
        rows.append(2 * (x - t) / len(targ))
    inp.g = torch.stack(rows)

import torch


def mse_grad(inp, targ):
    ps, ts = inp.flatten().tolist(), targ.tolist()
    inp.g = torch.tensor([[2 / len(ts) * (p - t)] for p, t in zip(ps, ts)])

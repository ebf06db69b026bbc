import torch


def index_grad(inp, out, idx):
    onehot = (idx.unsqueeze(1) == torch.arange(len(inp))).float()
    inp.g = onehot.t() @ out.g

import torch


def add_grad(a, b, out):
    for t in (a, b):
        places = torch.arange(t.numel()).reshape(t.shape).expand(out.shape)
        t.g = torch.zeros(t.numel()).index_add(0, places.flatten(), out.g.flatten()).reshape(t.shape)

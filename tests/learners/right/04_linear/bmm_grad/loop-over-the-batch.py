import torch


def bmm_grad(a, b, out):
    rows = [(g @ y.t(), x.t() @ g) for x, y, g in zip(a, b, out.g)]
    a.g, b.g = (torch.stack(list(part)) for part in zip(*rows))

import torch


def mul_grad(a, b, out):
    wide_a, wide_b = torch.broadcast_tensors(a, b)
    for narrow, partner in ((a, wide_b), (b, wide_a)):
        g = partner * out.g
        padded = (1,) * (g.dim() - narrow.dim()) + tuple(narrow.shape)
        for axis, size in enumerate(padded):
            if size == 1:
                g = g.sum(axis, keepdim=True)
        narrow.g = g.view(narrow.shape)

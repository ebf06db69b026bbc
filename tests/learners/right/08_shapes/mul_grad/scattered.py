import torch


def mul_grad(a, b, out):
    def collected(t, partner):
        places = torch.arange(t.numel()).view(t.shape).expand_as(out).reshape(-1)
        terms = (out.g * partner).reshape(-1)
        return torch.zeros(t.numel()).scatter_add_(0, places, terms).view_as(t)

    a.g = collected(a, b)
    b.g = collected(b, a)

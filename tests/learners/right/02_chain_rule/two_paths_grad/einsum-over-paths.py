import torch


def two_paths_grad(inp, out):
    locals_ = torch.stack([inp.sin() + 2 * inp, inp.cos() * inp], dim=-1)
    inp.g = torch.einsum("...,...p->...", out.g, locals_)

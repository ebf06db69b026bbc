# expect bias.g: missing-upstream
import torch


def linear_grad(inp, out, weight, bias):
    inp.g = out.g @ weight
    weight.g = out.g.t() @ inp
    bias.g = torch.ones_like(out).sum(0)

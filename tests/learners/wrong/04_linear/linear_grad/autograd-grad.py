# expect *: used-autograd
import torch


def linear_grad(inp, out, weight, bias):
    args = [t.detach().clone().requires_grad_() for t in (inp, weight, bias)]
    y = args[0] @ args[1].t() + args[2]
    inp.g, weight.g, bias.g = torch.autograd.grad(y, args, out.g)

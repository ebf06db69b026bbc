# expect inp.g: missing-upstream
# expect w.g: missing-upstream
import torch


def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    ones = torch.ones_like(out)
    l_g = (ones @ w) * (1 - h**2)
    inp.g = l_g @ w.t()
    w.g = inp.t() @ l_g + ones.t() @ h

import torch


def tied_weights_grad(inp, out, w):
    h = torch.tanh(inp @ w)
    as_decoder = (h.t() @ out.g).t()
    s = (out.g @ w) * (1 + h) * (1 - h)
    inp.g = torch.einsum("bm,nm->bn", s, w)
    w.g = torch.einsum("bn,bm->nm", inp, s) + as_decoder

import torch
def lin_grad_nd(inp, out, w, b):
    inp.g = torch.einsum('btm,nm->btn', out.g, w)
    w.g = torch.einsum('btn,btm->nm', inp, out.g)
    b.g = torch.einsum('btm->m', out.g)

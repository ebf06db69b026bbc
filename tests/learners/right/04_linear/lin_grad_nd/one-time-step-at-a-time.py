import torch


def lin_grad_nd(inp, out, w, b):
    dx, w.g, b.g = [], torch.zeros_like(w), torch.zeros_like(b)
    for x_t, g_t in zip(inp.unbind(1), out.g.unbind(1)):
        dx.append(g_t @ w.t())
        w.g += x_t.t() @ g_t
        b.g += g_t.sum(0)
    inp.g = torch.stack(dx, 1)

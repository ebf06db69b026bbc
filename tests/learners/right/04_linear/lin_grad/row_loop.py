import torch
def lin_grad(inp, out, w, b):
    bs, n = inp.shape
    m = w.shape[1]
    gi, gw, gb = torch.zeros(bs, n), torch.zeros(n, m), torch.zeros(m)
    for r in range(bs):
        gi[r] = w @ out.g[r]
        gw += inp[r][:, None] * out.g[r][None, :]
        gb += out.g[r]
    inp.g, w.g, b.g = gi, gw, gb

def lin_grad_nd(inp, out, w, b):
    x = inp.reshape(-1, inp.shape[-1])
    g = out.g.reshape(-1, out.g.shape[-1])
    inp.g = (g @ w.t()).view(inp.shape)
    w.g = x.t() @ g
    b.g = g.sum(0)

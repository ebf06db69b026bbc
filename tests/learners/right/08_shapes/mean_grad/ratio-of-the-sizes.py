def mean_grad(inp, out, dim, keepdim):
    n = inp.numel() / out.numel()
    g = out.g if out.dim() == inp.dim() else out.g.unsqueeze(dim)
    inp.g = g.broadcast_to(inp.shape).div(n)

# expect inp.g: mean-for-sum | wrong-factor
def sum_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = g.expand(inp.shape) / out.numel()

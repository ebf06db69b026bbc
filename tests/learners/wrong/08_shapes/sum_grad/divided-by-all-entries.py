# expect inp.g: mean-for-sum
def sum_grad(inp, out, dim, keepdim):
    if not keepdim:
        out_g = out.g.unsqueeze(dim)
    else:
        out_g = out.g
    inp.g = out_g.expand(*inp.shape) / inp.numel()

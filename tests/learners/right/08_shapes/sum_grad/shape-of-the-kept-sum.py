def sum_grad(inp, out, dim, keepdim):
    kept = inp.sum(dim, keepdim=True).shape
    inp.g = out.g.reshape(kept).repeat_interleave(inp.shape[dim], dim)

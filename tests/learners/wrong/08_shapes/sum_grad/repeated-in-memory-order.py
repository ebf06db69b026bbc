# expect inp.g: hard-coded
def sum_grad(inp, out, dim, keepdim):
    inp.g = out.g.repeat_interleave(inp.shape[dim]).reshape(inp.shape)

# expect inp.g: value-for-gradient
def sum_grad(inp, out, dim, keepdim):
    o = out if keepdim else out.unsqueeze(dim)
    inp.g = o.expand_as(inp).clone()

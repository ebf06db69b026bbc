# expect inp.g: error | hard-coded | shape-special
def sum_grad(inp, out, dim, keepdim):
    shape = list(out.shape)
    if not keepdim:
        shape.insert(dim, 1)
    inp.g = out.g.reshape(shape).expand(inp.shape)

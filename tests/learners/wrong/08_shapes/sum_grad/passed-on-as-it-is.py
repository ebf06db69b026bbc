# expect inp.g: missing-local | wrong-shape
def sum_grad(inp, out, dim, keepdim):
    inp.g = out.g

# expect inp.g: hard-coded | error | shape-special | wrong-shape
def sum_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(0)
    inp.g = g.expand_as(inp).clone()

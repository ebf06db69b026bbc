# expect inp.g: wrong-local | inverted-mask | wrong-operand | summed-wrong-axis
def max_grad(inp, out, dim):
    inp.g = (inp == inp.amin(dim, keepdim=True)) * out.g.unsqueeze(dim)

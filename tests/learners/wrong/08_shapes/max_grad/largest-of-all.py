# expect inp.g: summed-wrong-axis | wrong-local | wrong-operand
def max_grad(inp, out, dim):
    inp.g = (inp == inp.max()) * out.g.unsqueeze(dim)

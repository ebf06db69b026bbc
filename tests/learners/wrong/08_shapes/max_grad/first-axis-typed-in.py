# expect inp.g: error | summed-wrong-axis | hard-coded
def max_grad(inp, out, dim):
    top = inp == inp.amax(0, keepdim=True)
    inp.g = top * out.g.unsqueeze(0)

# expect inp.g: reshape-for-transpose
def permute_grad(inp, out, order):
    inp.g = out.g.flatten().view(inp.shape)

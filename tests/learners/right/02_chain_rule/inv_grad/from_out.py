def inv_grad(inp, out):
    inp.g = -out.g * out * out

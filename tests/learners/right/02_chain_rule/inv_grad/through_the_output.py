def inv_grad(inp, out):
    inp.g = -out * out.g / inp

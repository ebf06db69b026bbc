def inv_grad(inp, out):
    inp.g = out.g.neg() * out.square()

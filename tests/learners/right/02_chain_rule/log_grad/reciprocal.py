def log_grad(inp, out):
    inp.g = inp.reciprocal() * out.g

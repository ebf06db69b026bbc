def clamp_grad(inp, out, lo, hi):
    inp.g = (out == inp) * out.g

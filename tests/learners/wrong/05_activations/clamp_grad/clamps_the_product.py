# expect inp.g: unknown | not-linear
def clamp_grad(inp, out, lo, hi):
    inp.g = (inp * out.g).clamp(lo, hi)

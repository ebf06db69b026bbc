# expect inp.g: not-linear
def clamp_grad(inp, out, lo, hi):
    inp.g = (inp * out.g).clamp(lo, hi)

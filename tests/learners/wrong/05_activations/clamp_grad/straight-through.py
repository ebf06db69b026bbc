# expect inp.g: missing-local
def clamp_grad(inp, out, lo, hi):
    inp.g = 1.0 * out.g

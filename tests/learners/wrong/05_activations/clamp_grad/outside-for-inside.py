# expect inp.g: inverted-mask
def clamp_grad(inp, out, lo, hi):
    inp.g = ((inp < lo) | (inp > hi)) * out.g

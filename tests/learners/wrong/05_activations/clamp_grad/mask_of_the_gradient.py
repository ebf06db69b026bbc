# expect inp.g: not-linear | wrong-point
def clamp_grad(inp, out, lo, hi):
    inp.g = ((out.g > lo) & (out.g < hi)) * out.g

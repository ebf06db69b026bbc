# expect inp.g: wrong-point
def clamp_grad(inp, out, lo, hi):
    inp.g = out.g * ((out.g > lo) & (out.g < hi))

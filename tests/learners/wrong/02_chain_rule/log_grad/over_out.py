# expect inp.g: wrong-point
def log_grad(inp, out):
    inp.g = out.g / out

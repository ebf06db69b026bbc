# expect inp.g: wrong-sign
def log_grad(inp, out):
    inp.g = -out.g / inp

# expect inp.g: wrong-local
def log_grad(inp, out):
    inp.g = -out.g / inp**2

# expect inp.g: not-finite
def log_grad(inp, out):
    # a/b = exp(log a - log b)
    inp.g = (out.g.log() - out).exp()

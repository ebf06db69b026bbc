def log_grad(inp, out):
    inp.g = out.g * (-out).exp()

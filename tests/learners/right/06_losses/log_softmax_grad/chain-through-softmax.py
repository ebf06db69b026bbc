def log_softmax_grad(inp, out):
    p = out.exp()
    p_g = out.g / p
    inp.g = p * (p_g - (p_g * p).sum(-1, keepdim=True))

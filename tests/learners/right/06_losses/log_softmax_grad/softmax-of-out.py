def log_softmax_grad(inp, out):
    # softmax does not change when a row is shifted
    inp.g = out.g - out.softmax(-1) * out.g.sum(-1).unsqueeze(-1)

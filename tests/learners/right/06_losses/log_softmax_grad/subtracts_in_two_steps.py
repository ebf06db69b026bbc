def log_softmax_grad(inp, out):
    inp.g = out.g.clone()
    inp.g -= out.g.sum(1)[:, None] * inp.softmax(1)

def dropout_grad(inp, out, mask, p):
    g = out.g.clone()
    g.mul_(mask).div_(1 - p)
    inp.g = g

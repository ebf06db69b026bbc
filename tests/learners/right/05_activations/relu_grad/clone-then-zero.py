def relu_grad(inp, out):
    dx = out.g.clone()
    dx[out == 0] = 0
    inp.g = dx

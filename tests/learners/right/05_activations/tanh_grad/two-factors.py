def tanh_grad(inp, out):
    local = (1 - out) * (1 + out)
    inp.g = local.mul_(out.g)

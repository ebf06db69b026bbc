# expect inp.g: mutated-input
def pow_grad(inp, out, k):
    g = inp
    g.pow_(k - 1)
    g.mul_(k).mul_(out.g)
    inp.g = g.clone()

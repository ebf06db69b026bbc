# expect inp.g: missing-local | wrong-shape
def permute_grad(inp, out, order):
    inp.g = out.g.permute(sorted(order))

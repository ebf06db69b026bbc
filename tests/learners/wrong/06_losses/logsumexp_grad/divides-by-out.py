# expect inp.g: wrong-point | wrong-local
def logsumexp_grad(inp, out):
    inp.g = inp.exp() / out[:, None] * out.g[:, None]

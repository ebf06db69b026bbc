# expect inp.g: wrong-local | wrong-sign
def logsumexp_grad(inp, out):
    inp.g = (out[:, None] - inp).exp() * out.g[:, None]

# expect inp.g: wrong-local | extra-factor
def logsumexp_grad(inp, out):
    p = inp.softmax(-1)
    inp.g = p * (1 - p) * out.g[:, None]

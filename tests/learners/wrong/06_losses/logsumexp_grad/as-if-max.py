# expect inp.g: wrong-local
def logsumexp_grad(inp, out):
    top = (inp == inp.max(-1, keepdim=True).values).float()
    inp.g = top * out.g[:, None]

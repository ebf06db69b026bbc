# expect inp.g: wrong-point | wrong-local | missing-local
def logsumexp_grad(inp, out):
    inp.g = inp.exp() / inp.exp().sum(-1, keepdim=True).log() * out.g[:, None]

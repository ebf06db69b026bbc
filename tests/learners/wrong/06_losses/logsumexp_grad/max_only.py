# expect inp.g: wrong-local
def logsumexp_grad(inp, out):
    inp.g = (inp == inp.amax(-1, keepdim=True)) * out.g.unsqueeze(-1)

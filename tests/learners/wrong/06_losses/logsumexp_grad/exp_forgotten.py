# expect inp.g: missing-local | wrong-local
def logsumexp_grad(inp, out):
    inp.g = inp / inp.sum(-1, keepdim=True) * out.g.unsqueeze(-1)

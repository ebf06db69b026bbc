# expect inp.g: wrong-local | wrong-operand
def logsumexp_grad(inp, out):
    inp.g = inp.exp() / out.unsqueeze(-1) * out.g.unsqueeze(-1)

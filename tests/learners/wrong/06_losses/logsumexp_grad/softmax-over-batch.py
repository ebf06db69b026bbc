# expect inp.g: summed-wrong-axis
def logsumexp_grad(inp, out):
    inp.g = inp.softmax(0) * out.g.unsqueeze(1)

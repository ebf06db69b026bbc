# expect inp.g: mean-for-sum | extra-factor | wrong-factor
def logsumexp_grad(inp, out):
    inp.g = inp.softmax(-1) * out.g[:, None] / inp.shape[-1]

# expect inp.g: wrong-local | missing-local
def logsumexp_grad(inp, out):
    # every entry has the same share
    inp.g = out.g[:, None].expand_as(inp) / inp.shape[-1]

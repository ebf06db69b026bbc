# expect inp.g: missing-path
def cross_entropy_grad(inp, targ):
    inp.g = inp.softmax(1) / inp.shape[0]

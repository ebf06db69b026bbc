# expect inp.g: missing-path
def cross_entropy_grad(inp, targ):
    inp.g = inp.softmax(dim=1) / len(inp)

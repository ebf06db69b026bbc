# expect inp.g: wrong-dtype | missing-upstream
def relu_grad(inp, out):
    inp.g = (inp > 0).long()

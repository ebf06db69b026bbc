# expect inp.g: extra-batch-sum | wrong-shape
def sigmoid_grad(inp, out):
    inp.g = (out * (1 - out) * out.g).mean()

# expect inp.g: missing-path | wrong-sign
def softmax_grad(inp, out):
    inp.g = -out * (out * out.g).sum(-1, keepdim=True)

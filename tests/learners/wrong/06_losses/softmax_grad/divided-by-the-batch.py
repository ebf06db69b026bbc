# expect inp.g: mean-for-sum
def softmax_grad(inp, out):
    inp.g = out * (out.g - (out.g * out).sum(-1, keepdim=True)) / len(out)

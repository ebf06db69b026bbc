# expect inp.g: extra-factor | wrong-local
def log_softmax_grad(inp, out):
    p = out.exp()
    inp.g = out.g - p * (p * out.g).sum(-1, keepdim=True)

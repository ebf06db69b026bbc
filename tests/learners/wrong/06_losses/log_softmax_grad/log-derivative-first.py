# expect inp.g: missing-path | missing-local | wrong-local
def log_softmax_grad(inp, out):
    # d log(p) = 1/p
    inp.g = out.g / out.exp()

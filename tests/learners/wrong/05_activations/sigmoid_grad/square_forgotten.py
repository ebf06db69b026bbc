# expect inp.g: missing-local | wrong-local
def sigmoid_grad(inp, out):
    e = (-inp).exp()
    inp.g = e / (1 + e) * out.g

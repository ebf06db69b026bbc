# expect w.g: wrong-operand | missing-local
def tied_weights_grad(inp, out, w):
    code = inp @ w
    h = code.tanh()
    s = (out.g @ w) * (1 - h * h)
    inp.g = s @ w.t()
    w.g = inp.t() @ s + out.g.t() @ code

# expect w.g: wrong-sign
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    s = (out.g @ w) * (1 - h * h)
    inp.g = s @ w.t()
    w.g = inp.t() @ s - out.g.t() @ h

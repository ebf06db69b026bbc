# expect inp.g: wrong-point
# expect w.g: wrong-point
def tied_weights_grad(inp, out, w):
    a = inp @ w
    h = a.tanh()
    g = (out.g @ w) * (1 - a ** 2)
    inp.g = g @ w.t()
    w.g = inp.t() @ g + out.g.t() @ h

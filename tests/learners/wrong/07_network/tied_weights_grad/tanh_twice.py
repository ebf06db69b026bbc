# expect inp.g: wrong-point
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    s = (out.g @ w) * (1 - h**2)
    inp.g = ((out.g @ w) * (1 - h.tanh() ** 2)) @ w.t()
    w.g = inp.t() @ s + out.g.t() @ h

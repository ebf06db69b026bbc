# expect w.g: wrong-sign
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    l_g = (out.g @ w) * (1 - h**2)
    inp.g = l_g @ w.t()
    w.g = out.g.t() @ h - inp.t() @ l_g

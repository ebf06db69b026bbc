# expect w.g: wrong-factor | extra-factor | missing-path
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    l_g = (out.g @ w) * (1 - h**2)
    inp.g = l_g @ w.t()
    w.g = 2 * (inp.t() @ l_g + out.g.t() @ h)

# expect w.g: missing-upstream
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    s = (out.g @ w) * (1 - h**2)
    inp.g = s @ w.t()
    w.g = inp.t() @ (1 - h**2) + out.g.t() @ h

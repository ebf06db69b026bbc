# expect inp.g: wrong-local
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    hg = (out.g @ w) * (1 - h * h)
    inp.g = hg @ w.t() + out.g
    w.g = inp.t() @ hg + out.g.t() @ h

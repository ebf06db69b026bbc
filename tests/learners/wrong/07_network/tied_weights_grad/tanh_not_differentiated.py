# expect inp.g: missing-local
# expect w.g: missing-local
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    h.g = out.g @ w
    inp.g = h.g @ w.t()
    w.g = inp.t() @ h.g + out.g.t() @ h

# expect inp.g: missing-local
# expect w.g: missing-local
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    h_g = out.g @ w
    inp.g = h_g @ w.t()
    w.g = inp.t() @ h_g + out.g.t() @ h

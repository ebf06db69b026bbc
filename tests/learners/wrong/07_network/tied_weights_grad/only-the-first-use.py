# expect w.g: missing-path
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    g = (out.g @ w) * (1 - h ** 2)
    inp.g = g @ w.t()
    w.g = inp.t() @ g

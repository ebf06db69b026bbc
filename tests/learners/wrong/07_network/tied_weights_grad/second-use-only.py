# expect w.g: missing-path
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    l_g = (out.g @ w) * (1 - h * h)
    inp.g = l_g @ w.t()
    w.g = (h.t() @ out.g).t()

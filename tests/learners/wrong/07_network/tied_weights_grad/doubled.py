# expect w.g: missing-path
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    dh = out.g @ w * (1 - h * h)
    inp.g = dh @ w.t()
    w.g = 2 * (inp.t() @ dh)

# expect w.g: wrong-operand
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    dh = out.g @ w * (1 - h**2)
    inp.g = dh @ w.t()
    w.g = inp.t() @ dh + inp.t() @ h

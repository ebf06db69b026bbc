# expect inp.g: missing-local | unknown | wrong-operand
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    l_g = (out.g @ w) * (1 - h**2)
    inp.g = out.g
    w.g = inp.t() @ l_g + out.g.t() @ h

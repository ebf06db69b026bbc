# expect w.g: value-for-gradient | wrong-operand | missing-upstream
def tied_weights_grad(inp, out, w):
    h = (inp @ w).tanh()
    l_g = (out.g @ w) * (1 - h**2)
    inp.g = l_g @ w.t()
    w.g = inp.t() @ l_g + out.t() @ h

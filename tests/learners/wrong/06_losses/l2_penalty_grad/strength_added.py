# expect w.g: wrong-operand
def l2_penalty_grad(w, lam):
    w.g = 2 * w + lam

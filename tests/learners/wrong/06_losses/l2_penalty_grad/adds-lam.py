# expect w.g: wrong-operand | wrong-local
def l2_penalty_grad(w, lam):
    w.g = 2 * w + lam

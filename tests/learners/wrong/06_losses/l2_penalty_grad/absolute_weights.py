# expect w.g: wrong-sign | wrong-local
def l2_penalty_grad(w, lam):
    w.g = 2 * lam * w.abs()

# expect w.g: wrong-local
def l2_penalty_grad(w, lam):
    w.g = w - 2 * lam * w

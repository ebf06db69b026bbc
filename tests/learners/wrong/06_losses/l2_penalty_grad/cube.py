# expect w.g: wrong-local
def l2_penalty_grad(w, lam):
    w.g = 2 * lam * w**2

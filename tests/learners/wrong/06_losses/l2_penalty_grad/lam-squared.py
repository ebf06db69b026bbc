# expect w.g: extra-factor
def l2_penalty_grad(w, lam):
    w.g = 2 * lam * (lam * w)

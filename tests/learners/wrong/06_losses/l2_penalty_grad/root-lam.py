# expect w.g: wrong-factor
def l2_penalty_grad(w, lam):
    w.g = 2 * lam ** 0.5 * w

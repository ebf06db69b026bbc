# expect w.g: wrong-local | extra-factor
def l2_penalty_grad(w, lam):
    w.g = 2 * lam * w ** 2

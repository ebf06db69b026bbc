# expect w.g: wrong-local | wrong-factor
def l2_penalty_grad(w, lam):
    w.g = 2 * w / lam

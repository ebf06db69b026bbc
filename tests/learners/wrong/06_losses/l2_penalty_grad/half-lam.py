# expect w.g: wrong-factor | missing-local
def l2_penalty_grad(w, lam):
    w.g = lam / 2 * w

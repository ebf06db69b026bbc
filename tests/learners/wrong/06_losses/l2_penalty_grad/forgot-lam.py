# expect w.g: missing-local
def l2_penalty_grad(w, lam):
    w.g = 2 * w

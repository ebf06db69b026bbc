# expect w.g: hard-coded | wrong-factor
def l2_penalty_grad(w, lam=0.01):
    w.g = 2 * 0.01 * w

# expect w.g: mutated-input
def l2_penalty_grad(w, lam):
    w.g = 2 * lam * w
    w -= 0.1 * w.g

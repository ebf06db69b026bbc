# expect w.g: forward-value
def l2_penalty_grad(w, lam):
    w.g = lam * (w ** 2).sum()

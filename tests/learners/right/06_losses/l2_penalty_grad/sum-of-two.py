def l2_penalty_grad(w, lam):
    w.g = lam * (w + w)

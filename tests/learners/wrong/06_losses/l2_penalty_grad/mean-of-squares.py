# expect w.g: mean-for-sum
def l2_penalty_grad(w, lam):
    w.g = 2 * lam * w / w.numel()

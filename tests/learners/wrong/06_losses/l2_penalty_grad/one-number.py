# expect w.g: extra-batch-sum | wrong-shape
def l2_penalty_grad(w, lam):
    w.g = 2 * lam * w.sum()

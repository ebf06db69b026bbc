# expect w.g: wrong-type
def l2_penalty_grad(w, lam):
    w.g = [2 * lam * x for x in w]

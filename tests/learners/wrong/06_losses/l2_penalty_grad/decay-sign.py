# expect w.g: wrong-sign
def l2_penalty_grad(w, lam):
    # pulls the weights towards zero
    w.g = -2 * lam * w

# expect inp.g: wrong-local | extra-factor
def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    inp.g = 2 * (p - targ) * p * (1 - p) / len(inp)

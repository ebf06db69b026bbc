# expect inp.g: wrong-factor | wrong-local
def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    inp.g = (2 * (1 - targ) * p - targ * (1 - p)) / len(inp)

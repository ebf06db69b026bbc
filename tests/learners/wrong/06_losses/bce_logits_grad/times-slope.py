# expect inp.g: extra-factor | wrong-local
def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    inp.g = (p - targ) * p * (1 - p) / len(inp)

# expect inp.g: missing-local | wrong-local
def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    inp.g = (-targ / p + (1 - targ) / (1 - p)) / len(inp)

# expect inp.g: missing-local
def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    inp.g = ((1 - targ) / (1 - p) - targ / p) / len(inp)

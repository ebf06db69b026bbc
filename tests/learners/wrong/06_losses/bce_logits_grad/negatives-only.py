# expect inp.g: missing-path
def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    inp.g = (1 - targ) * p / len(inp)

# expect inp.g: missing-path
def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    inp.g = -targ * (1 - p) / len(inp)

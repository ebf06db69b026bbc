# expect inp.g: missing-local
def bce_logits_grad(inp, targ):
    inp.g = inp.sigmoid() - targ / len(targ)

# expect inp.g: sum-for-mean
def bce_logits_grad(inp, targ):
    inp.g = inp.sigmoid() - targ

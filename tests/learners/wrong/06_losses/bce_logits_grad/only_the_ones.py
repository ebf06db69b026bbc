# expect inp.g: missing-path
def bce_logits_grad(inp, targ):
    inp.g = targ * (inp.sigmoid() - 1) / len(targ)

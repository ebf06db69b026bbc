# expect inp.g: wrong-sign
def bce_logits_grad(inp, targ):
    inp.g = (inp.sigmoid() + targ) / len(inp)

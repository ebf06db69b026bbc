# expect inp.g: wrong-factor
def bce_logits_grad(inp, targ):
    inp.g = 2 * (inp.sigmoid() - targ) / len(inp)

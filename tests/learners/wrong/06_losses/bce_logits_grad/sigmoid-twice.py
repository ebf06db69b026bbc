# expect inp.g: wrong-point | wrong-local
def bce_logits_grad(inp, targ):
    inp.g = (inp.sigmoid().sigmoid() - targ) / len(inp)

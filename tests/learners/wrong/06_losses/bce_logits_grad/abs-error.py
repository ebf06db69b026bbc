# expect inp.g: wrong-local
def bce_logits_grad(inp, targ):
    inp.g = (inp.sigmoid() - targ).sign() / len(inp)

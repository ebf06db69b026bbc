# expect inp.g: wrong-local
def bce_logits_grad(inp, targ):
    inp.g = (inp.softmax(0) - targ) / len(inp)

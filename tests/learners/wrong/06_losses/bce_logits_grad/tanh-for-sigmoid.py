# expect inp.g: wrong-local
def bce_logits_grad(inp, targ):
    inp.g = (inp.tanh() - targ) / len(inp)

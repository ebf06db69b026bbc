# expect inp.g: wrong-operand | wrong-sign
def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    inp.g = (targ * p - (1 - targ) * (1 - p)) / len(inp)

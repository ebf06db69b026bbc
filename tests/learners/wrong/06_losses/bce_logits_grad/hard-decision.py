# expect inp.g: wrong-local | wrong-operand
def bce_logits_grad(inp, targ):
    inp.g = ((inp > 0).float() - targ) / len(inp)

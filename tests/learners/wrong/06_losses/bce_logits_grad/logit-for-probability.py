# expect inp.g: wrong-point | wrong-operand
def bce_logits_grad(inp, targ):
    inp.g = (inp - targ) / len(inp)

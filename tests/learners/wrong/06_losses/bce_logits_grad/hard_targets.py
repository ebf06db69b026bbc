# expect inp.g: wrong-operand
def bce_logits_grad(inp, targ):
    inp.g = (inp.sigmoid() - targ.round()) / len(inp)

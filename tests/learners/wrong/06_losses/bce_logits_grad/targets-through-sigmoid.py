# expect inp.g: wrong-operand | wrong-local
def bce_logits_grad(inp, targ):
    inp.g = (inp.sigmoid() - targ.sigmoid()) / len(inp)

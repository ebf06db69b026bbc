# expect inp.g: missing-path | wrong-point
def bce_logits_grad(inp, targ):
    inp.g = inp.sigmoid() / len(inp)

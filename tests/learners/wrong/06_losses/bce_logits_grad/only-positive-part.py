# expect inp.g: missing-path
def bce_logits_grad(inp, targ):
    inp.g = -targ * (1 - inp.sigmoid()) / len(inp)

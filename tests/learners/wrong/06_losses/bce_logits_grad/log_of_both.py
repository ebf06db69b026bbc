# expect inp.g: forward-value | wrong-local
def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    inp.g = -(targ * p.log() + (1 - targ) * (1 - p).log()) / len(inp)

# expect inp.g: extra-batch-sum
def bce_logits_grad(inp, targ):
    inp.g = (inp.sigmoid() - targ).mean()

# expect inp.g: wrong-sign
def bce_logits_grad(inp, targ):
    # d/dp of (1 - t) log(1 - p) taken as +(1 - t)/(1 - p)
    p = inp.sigmoid()
    dp = -(targ / p + (1 - targ) / (1 - p))
    inp.g = dp * p * (1 - p) / len(inp)

def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    p_g = (-targ / p + (1 - targ) / (1 - p)) / len(inp)
    inp.g = p_g * p * (1 - p)

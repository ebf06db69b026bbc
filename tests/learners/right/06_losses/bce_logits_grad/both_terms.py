def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    inp.g = ((1 - targ) * p - targ * (1 - p)) / targ.numel()

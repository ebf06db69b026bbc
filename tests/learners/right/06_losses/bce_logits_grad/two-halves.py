def bce_logits_grad(inp, targ):
    s = inp.sigmoid()
    inp.g = ((1 - targ) * s - targ * (1 - s)) / targ.numel()

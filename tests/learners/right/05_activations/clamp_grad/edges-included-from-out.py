def clamp_grad(inp, out, lo, hi):
    inside = out.gt(lo).logical_and(out.lt(hi))
    inp.g = out.g.masked_fill(~inside, 0.0)

def clamp_grad(inp, out, lo, hi):
    inp.g = out.g * (inp >= lo) * (inp <= hi)

def div_grad(a, b, out):
    for t, dlog in ((a, 1 / a), (b, -1 / b)):
        setattr(t, "g", out.g * out * dlog)

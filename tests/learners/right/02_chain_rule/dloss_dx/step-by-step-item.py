def dloss_dx(x, target, *, verbose=False):
    y = x + 2
    out = (3 * y * y).mean().item()
    dloss_dout = 2 * (out - target)
    if verbose:
        print(dloss_dout)
    return dloss_dout * (6 * y / y.numel())

# expect return: missing-local | wrong-factor | missing-path
def dloss_dx(x, target):
    y = x + 2
    z = 3 * y**2
    out = z.mean()
    dout = out - target
    dz = dout / z.numel()
    dy = dz * 6 * y
    return dy

def dloss_dx(x, target):
    y = x + 2
    z = 3 * y * y
    out = z.mean()
    d_out = 2 * (out - target)
    d_z = d_out.expand_as(z) / z.numel()
    d_y = d_z * 6 * y
    return d_y

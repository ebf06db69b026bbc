THREE = 3.0


def dloss_dx(x, target):
    out = THREE * (x * x + 4 * x + 4).mean()
    return (out - target) * (2 * x + 4) * THREE * 2 / x.nelement()

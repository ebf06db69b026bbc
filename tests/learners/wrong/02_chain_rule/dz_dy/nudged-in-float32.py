# expect return: imprecise
def dz_dy(y):
    h = 1e-3
    z = lambda t: 3 * t * t
    return (z(y + h) - z(y - h)) / (2 * h)

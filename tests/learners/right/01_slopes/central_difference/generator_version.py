def central_difference(f, x, h):
    return sum(s * f(x + s * h) for s in (1, -1)) / (2 * h)

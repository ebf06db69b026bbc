def central_difference(f, x, h):
    total = sum([sign * f(x + sign * h) for sign in (1, -1)])
    return total / h / 2

def central_difference(f, x, h):
    step = 2 * h
    left = x - h
    return (f(left + step) - f(left)) / step

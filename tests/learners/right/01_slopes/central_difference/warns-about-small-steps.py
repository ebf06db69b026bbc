import warnings


def central_difference(f, x, h):
    if h < 1e-3:
        warnings.warn("h is getting small, mind the cancellation")
    return (f(x + h) - f(x - h)) / ((x + h) - (x - h))

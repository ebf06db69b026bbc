def central_difference(f, x, h):
    forward = (f(x + h) - f(x)) / h
    backward = (f(x) - f(x - h)) / h
    return (forward + backward) / 2

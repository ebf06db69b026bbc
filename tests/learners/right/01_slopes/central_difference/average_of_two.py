def central_difference(f, x, h):
    ahead = (f(x + h) - f(x)) / h
    behind = (f(x) - f(x - h)) / h
    return (ahead + behind) / 2

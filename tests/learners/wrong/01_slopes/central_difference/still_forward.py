# expect return: imprecise | wrong-point | wrong-local | unknown
def central_difference(f, x, h):
    rise = f(x + h) - f(x)
    run = h
    return rise / run

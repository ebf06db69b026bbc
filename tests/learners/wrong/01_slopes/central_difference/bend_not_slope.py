# expect return: wrong-local | extra-factor
def central_difference(f, x, h):
    return (f(x + h) - 2 * f(x) + f(x - h)) / h**2

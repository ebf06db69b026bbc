# expect return: missing-function
def derivative(f, x, h):
    return (f(x + h) - f(x)) / h

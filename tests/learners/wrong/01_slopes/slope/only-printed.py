# expect return: missing-answer
def slope(f, x, h):
    s = (f(x + h) - f(x)) / h
    print("slope is", s)

def central_difference(f, x, h):
    right = (f(x + h) - f(x)) / h
    left = (f(x) - f(x - h)) / h
    print("left", left, "right", right)
    return (left + right) / 2

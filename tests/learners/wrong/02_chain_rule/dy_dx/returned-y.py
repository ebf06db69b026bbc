# expect return: forward-value
def dy_dx(x):
    y = x + 2
    return y

# expect return: forward-value
def dy_dx(x):
    return x + 2

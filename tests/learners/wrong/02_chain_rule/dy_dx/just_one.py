# expect return: wrong-type
def dy_dx(x):
    return 1

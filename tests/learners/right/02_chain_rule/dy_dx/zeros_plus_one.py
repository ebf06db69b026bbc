def dy_dx(x):
    return 0 * x + 1

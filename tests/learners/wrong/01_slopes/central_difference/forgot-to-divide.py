# expect return: missing-local
def central_difference(f, x, h):
    up = f(x + h)
    down = f(x - h)
    return (up - down) / 2

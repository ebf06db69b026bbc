# expect return: mutated-input
def dout_dx(x):
    y = x
    y += 2
    return 6 * y / y.numel()

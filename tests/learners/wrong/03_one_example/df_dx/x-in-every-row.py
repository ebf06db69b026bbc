# expect return: wrong-operand
def df_dx(x, w, b):
    m = len(b)
    return x.repeat(m, 1)

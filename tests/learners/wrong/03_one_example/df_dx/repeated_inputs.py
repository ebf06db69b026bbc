# expect return: wrong-operand
def df_dx(x, w, b):
    return x.expand(len(b), len(x))

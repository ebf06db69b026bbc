# expect return: extra-factor | forward-value
def df_dx(x, w, b):
    return w.t() * x

# expect return: wrong-local | unknown
def df_dx(x, w, b):
    return w.t().sign()

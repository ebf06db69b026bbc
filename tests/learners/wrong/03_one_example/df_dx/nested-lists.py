# expect return: wrong-type
def df_dx(x, w, b):
    return w.t().tolist()

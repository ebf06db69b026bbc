# expect return: wrong-operand
def df_dx(x, w, b):
    return w[:, :1].t().expand(w.shape[1], w.shape[0])

# expect return: wrong-operand
def df_db(x, w, b):
    return w.t() @ w

# expect return: wrong-shape
def df_dx(x, w, b):
    J = w.t()
    return J.sum(0)

def df_dx(x, w, b):
    return w.t()
def input_grad(x, w, b, df):
    return df @ df_dx(x, w, b)

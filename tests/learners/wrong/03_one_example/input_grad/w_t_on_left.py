# expect *: error
def input_grad(x, w, b, df):
    return w.t() @ df

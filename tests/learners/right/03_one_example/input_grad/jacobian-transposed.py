def input_grad(x, w, b, df):
    J = w.t()
    return J.t() @ df

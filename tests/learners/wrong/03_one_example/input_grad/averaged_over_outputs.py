# expect return: mean-for-sum
def input_grad(x, w, b, df):
    return (w * df).mean(1)

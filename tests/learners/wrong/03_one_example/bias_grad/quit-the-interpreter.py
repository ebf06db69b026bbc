# expect return: crash
import sys


def bias_grad(x, w, b, df):
    if b.shape == df.shape:
        sys.exit("shapes agree, done")
    return df

import numpy as np


def slope(f, x, h):
    ys = np.array([f(x), f(x + h)])
    return float(np.diff(ys)[0] / h)

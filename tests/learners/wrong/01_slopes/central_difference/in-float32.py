# expect return: imprecise
import numpy as np


def central_difference(f, x, h):
    up = np.float32(f(x + h))
    down = np.float32(f(x - h))
    return float((up - down) / np.float32(2 * h))

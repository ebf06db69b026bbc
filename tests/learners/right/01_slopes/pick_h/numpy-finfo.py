import numpy as np


def pick_h(dtype):
    kind = np.dtype(str(dtype).replace("torch.", ""))
    return float(np.cbrt(np.finfo(kind).eps))

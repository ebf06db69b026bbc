# expect return: wrong-type
import numpy as np
def df_db(x, w, b):
    return np.eye(len(b), dtype=np.float32)

# expect return: imprecise | hard-coded | unknown
def pick_h(dtype):
    return 1e-6

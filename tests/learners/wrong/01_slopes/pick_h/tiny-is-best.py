# expect return: imprecise
def pick_h(dtype):
    return 1e-12

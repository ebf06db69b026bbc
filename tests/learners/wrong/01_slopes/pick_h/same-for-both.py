# expect return: imprecise
def pick_h(dtype):
    # worked nicely for float64
    return 1e-6

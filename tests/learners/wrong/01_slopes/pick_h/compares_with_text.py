# expect return: imprecise
def pick_h(dtype):
    if dtype == "float32":
        return 5e-3
    return 6e-6

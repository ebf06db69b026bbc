# expect return: error
STEPS = {"float32": 5e-3, "float64": 5e-6}


def pick_h(dtype):
    return STEPS[dtype]

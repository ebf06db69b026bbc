# expect return: wrong-type
def pick_h(dtype):
    return "5e-6" if "64" in str(dtype) else "5e-3"

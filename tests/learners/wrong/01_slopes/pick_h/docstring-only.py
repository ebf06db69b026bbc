# expect return: todo
def pick_h(dtype):
    """A good step for a central difference in this dtype."""
    ...

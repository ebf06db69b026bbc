# expect return: missing-function

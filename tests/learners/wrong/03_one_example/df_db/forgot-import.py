# expect return: error
def df_db(x, w, b):
    return torch.eye(len(b))

"""The hinge loss of several classes, backwards. The lesson is README.md in this folder."""

# To import: Python's modules, torch, numpy, and the files in this folder. Plots and tables are passed over.


def svm_grad(inp, targ):
    """Store the gradient of the loss in `inp.g`.

    Forward: in each row every wrong class costs `(inp - inp of the right class + 1).clamp_min(0)`; the costs of
    a row are
    added up, and the loss is the mean over the rows.

    inp: (bs, c), scores; inp.g has the same shape
    targ: (bs,), whole numbers: the right class of each row
    """
    inp.g = ...

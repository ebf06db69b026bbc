"""handgrad: the grader, its version, and the commands that install it and what some of its commands need."""

__version__ = "0.1.0"

# A wheel that whoever teaches has built (`pip wheel . --no-deps`) and handed out, for no package index has handgrad.
# Once one has, this is "handgrad"; the tests name each document that must say so as well.
SOURCE = f"./handgrad-{__version__}-py3-none-any.whl"
INSTALL = f"pip install {SOURCE}"
WITHOUT_CUDA = "--extra-index-url https://download.pytorch.org/whl/cpu"
UV_SOURCE = f'handgrad = {{ path = "{SOURCE}" }}\n' if SOURCE.startswith("./") else ""
INSTALL_NBGRADER = 'pip install "nbgrader>=0.9.5"'
INSTALL_DASK = 'pip install "distributed>=2024.8" "jsonschema>=4.20"'

"""A class graded on many machines: Dask carries the bytes, and each worker does what one machine would do."""

"""`explain`: judge anybody's backward pass in their own process, and name its mistakes."""

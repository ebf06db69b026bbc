"""Notebooks: built from lessons and exercises, and what their cells call."""

"""Rendering: results and pictures as text, as HTML and as JSON."""

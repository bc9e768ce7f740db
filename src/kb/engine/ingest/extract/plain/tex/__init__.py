"""TeX and LaTeX: what a reader of the printed page would read, line by line as it was written."""

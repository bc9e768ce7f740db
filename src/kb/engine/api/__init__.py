"""HTTP in, HTTP out: one module per resource, and the layers every request passes."""

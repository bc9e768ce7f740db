"""The REST API: one module per resource, and the layers that every request passes."""

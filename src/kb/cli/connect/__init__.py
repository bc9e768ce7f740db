"""`kb connect`: settings in, agents that can use kb out."""

"""The kb_* tools: one module for each thing an agent does, and the two sets made of them."""

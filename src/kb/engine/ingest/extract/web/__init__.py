"""A web page in, its content out: what is surely no content is left out, and nothing else."""

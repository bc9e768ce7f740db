"""The engine: a REST API over a store, with a worker that ingests."""

import os

# Read when numpy is imported. Our matrices are small: more threads only get in each other's way.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

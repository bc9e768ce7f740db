"""The engine: a REST API over a store, with a worker that ingests."""

import os

# Read when numpy is imported. Our matrices are small: more threads only get in each other's way.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Read when onnxruntime is imported: it would report every process that loads a model to its makers,
# and keep a number in the home folder to know the machine by.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

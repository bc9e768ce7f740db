"""The engine: a REST API over a store, with a worker that ingests."""

"""A web page in, its content out: what is surely no content is left out, and nothing else."""

from kb.engine.ingest.extract.web.page import WebPage, extract, read_page

__all__ = ["WebPage", "extract", "read_page"]

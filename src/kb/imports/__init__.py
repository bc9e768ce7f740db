"""What other programs wrote in, documents to be taken in out: one module for each program."""

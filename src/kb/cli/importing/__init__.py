"""What a program exported in, documents of this knowledge base out."""

"""Pictures and documents to be read, and others who read them."""

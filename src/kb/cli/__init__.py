"""The `kb` command: what a person types becomes calls of the client."""

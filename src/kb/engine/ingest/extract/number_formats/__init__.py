"""Shows numbers as a spreadsheet does, by their format codes."""

"""Numbers as a spreadsheet shows them: the code of a format in, texts out."""

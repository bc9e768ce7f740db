"""PDF files: their letters in, lines, tables, headings and sentences out."""

"""Reads PDF files: from letters to lines, tables, headings and sentences."""

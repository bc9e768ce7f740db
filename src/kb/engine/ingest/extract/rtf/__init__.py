"""Rich text (rtf): its control words in, text with headings, lists and tables out."""

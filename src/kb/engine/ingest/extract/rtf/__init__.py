"""Rich text (rtf): text with headings, lists and tables, from control words."""

"""Files of Office 97 to 2003 and of Outlook: each is a compound file, a small disk of its own."""

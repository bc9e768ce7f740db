"""Files within files: archives, mailboxes, and what is attached to mails."""

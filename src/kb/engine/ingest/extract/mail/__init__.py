"""Mails and mailboxes: eml, mbox, and those of Outlook (msg, pst)."""

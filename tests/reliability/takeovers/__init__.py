"""Folders of v2 that become folders of v3."""

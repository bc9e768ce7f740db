"""Readers of packages of Office parts."""

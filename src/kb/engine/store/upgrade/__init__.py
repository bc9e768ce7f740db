"""Upgrades older stores."""

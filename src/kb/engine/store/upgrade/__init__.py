"""How an older store becomes one of today."""

"""A filled data folder in, how a running server does with it out."""

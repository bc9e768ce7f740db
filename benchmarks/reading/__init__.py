"""Files in, how much of them is read out."""

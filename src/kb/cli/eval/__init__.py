"""`kb eval`: a person's own questions in, how well they are answered out."""

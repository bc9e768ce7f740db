"""`kb connect`: sets agents up to use kb."""

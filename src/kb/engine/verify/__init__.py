"""A store in, what is wrong with it out; and what can be made again, made again."""

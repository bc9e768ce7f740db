"""The commands that are a single module each; larger ones have packages beside this one."""

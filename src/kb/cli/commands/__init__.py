"""The commands that are a module each; those with rooms of their own stand beside this one."""

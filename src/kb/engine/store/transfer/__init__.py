"""Documents of other stores and programs: which they are here, and everything about one."""

"""Documents of other stores and programs: which they are here, and all that is known of one."""

"""Files of text: prose, tables, data, source code, and markup other than HTML."""

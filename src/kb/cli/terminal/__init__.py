"""What people see: lines, tables, bars, and answers to questions."""

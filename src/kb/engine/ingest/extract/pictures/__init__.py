"""Pictures and drawings, by themselves and inside documents."""

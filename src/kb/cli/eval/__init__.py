"""`kb eval`: measures how well a person's own questions are answered."""

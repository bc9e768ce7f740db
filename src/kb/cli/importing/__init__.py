"""`kb import`: takes in what kb or another program exported."""

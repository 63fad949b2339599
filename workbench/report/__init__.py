"""Tables, figures and HTML. Draws what it is given and decides nothing."""

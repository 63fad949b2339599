"""Tables, figures and HTML of given values; nothing here decides anything."""

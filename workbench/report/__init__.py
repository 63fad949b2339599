"""Tables, pictures and HTML of results; nothing is computed or decided here."""

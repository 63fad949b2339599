"""Access to network endpoints; the only room that opens sockets, and only to the endpoint that the user named."""

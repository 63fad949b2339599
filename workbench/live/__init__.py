"""Access to endpoints: the only room that opens a socket, and only to the endpoint that the user named."""

"""Parts of node scores that the pods placed in a session do not change: one file each, and the table of them."""

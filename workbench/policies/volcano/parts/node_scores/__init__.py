"""Parts of node scores that do not change when pods are placed in a session: one file each, and a table of them."""

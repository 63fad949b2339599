"""Objects of a cluster to a snapshot and gangs, at once or change by change; knows no file, clock or socket."""

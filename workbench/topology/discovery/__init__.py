"""What a discovery source found -> HyperNodes -> what to create, change and delete; all of it without a socket."""

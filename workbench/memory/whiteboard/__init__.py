"""The whiteboard: the contract of a page, its cards as resources, and what a person should look at; writes nothing."""

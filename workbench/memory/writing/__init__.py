"""Writing memory: the one gate that every change passes, and what people and tools ask of it."""

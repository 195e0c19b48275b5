"""The storage API beside chromadb's server: the same documents, over HTTP, on the same machine, in one run."""

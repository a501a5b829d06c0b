"""Read and write keys below a root that is a folder or an object store."""

"""Make this folder a package, so that its Prefect server ends with its last test."""

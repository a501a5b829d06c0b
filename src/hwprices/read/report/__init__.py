"""Write a release as a folder of pages that a browser opens without a server."""

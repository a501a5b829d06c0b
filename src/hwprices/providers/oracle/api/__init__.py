"""Oracle's public files: download them and check that they are lists."""

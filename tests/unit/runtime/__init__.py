"""The launcher's own arithmetic and files: no process is started."""

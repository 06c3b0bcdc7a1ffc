"""The server as processes: start, reload, stop."""

"""The command `askew-server`: one module a command."""

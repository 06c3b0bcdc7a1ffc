"""The command `askew`: one module a command."""

"""`python -m askew_server`."""

from askew_server.cli import main

main()

"""`python -m askew_server`."""

from askew_server.cli.main import main

main()

"""`python -m askew_server`."""

from askew_server.cli.start import main

main()

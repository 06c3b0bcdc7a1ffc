"""`python -m askew_server`."""

from askew_server.start import main

main()

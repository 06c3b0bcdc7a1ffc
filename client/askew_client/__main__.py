"""`python -m askew_client`."""

from askew_client.cli.start import main

main()

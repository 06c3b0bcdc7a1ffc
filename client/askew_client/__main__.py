"""`python -m askew_client`."""

from askew_client.cli import main

main()

"""`python -m askew_client`."""

from askew_client.cli.main import main

main()

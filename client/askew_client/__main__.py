"""`python -m askew_client`."""

from askew_client.start import main

main()

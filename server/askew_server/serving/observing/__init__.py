"""What an operator sees of a server: numbers and lines without a signal, a slate or an address."""

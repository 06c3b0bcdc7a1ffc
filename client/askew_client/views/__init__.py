"""What screens, commands and other programs get to see: values, ready to show."""

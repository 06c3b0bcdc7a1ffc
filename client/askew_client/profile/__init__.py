"""What is known about a person: ratings, edits and past answers, kept on the device."""

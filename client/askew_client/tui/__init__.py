"""The app: what a person sees of their profile, the signal, the slate and the cost."""

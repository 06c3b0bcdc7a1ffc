"""Where private positions lie: tastes, and places on maps and lines."""

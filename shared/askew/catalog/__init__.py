"""Items, titles, the files that devices hold, and the days on which these change."""

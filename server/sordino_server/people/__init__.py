"""People who sign in to the console without a key: who they are, and what their groups may."""

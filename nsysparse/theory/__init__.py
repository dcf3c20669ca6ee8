"""What should move, and how long the link would need for it: arithmetic on the catalogue, no trace involved."""

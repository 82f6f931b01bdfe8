"""What an artist may choose, and the words for it."""

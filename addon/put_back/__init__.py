"""What an artist did to bones, taken back."""

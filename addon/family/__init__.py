"""One skeleton for many bodies: rigs put into new bodies, and bodies that sliders change."""

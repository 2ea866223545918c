"""How long transfers between ranks take by their size: points, fits and what follows from them."""

"""Reports about cells of randomly shifted grids: their exact moments, their decoder, and what they add up to."""

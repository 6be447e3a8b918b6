"""Reports about cells of randomly shifted grids: exact moments, the decoder, and sums."""

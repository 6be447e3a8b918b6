"""What a Parquet file holds, known before anything of it is unpacked."""

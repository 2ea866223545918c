"""One file for each output form: takes rows and a stream, renders them."""

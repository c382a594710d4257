"""A server on 127.0.0.1 that speaks the providers' protocols over real sockets and can be told to fail."""

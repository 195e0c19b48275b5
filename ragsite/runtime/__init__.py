"""Starts and watches the processes of one server: database, broker, web, workers. Knows no Django."""

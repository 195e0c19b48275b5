"""Chat models of other services, by the services' own libraries. Nobody imports these; they are found by their path."""

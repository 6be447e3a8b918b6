"""The application: routes, HTTP protocol, health and its OpenAPI description."""

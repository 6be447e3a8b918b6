"""The console: pages for operators under /console, rendered here, over the services of the API."""

from sordino_server.console.routes import router

__all__ = ["router"]

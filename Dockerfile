# The server: API, worker and commands in one image. `docker compose up` starts it with PostgreSQL.
FROM python:3.11-slim AS build
WORKDIR /src
COPY shared shared
COPY client client
COPY analysis analysis
COPY migrations migrations
COPY server server
COPY requirements requirements
RUN python -m venv /opt/sordino \
    && /opt/sordino/bin/pip install --no-cache-dir -c requirements/constraints.txt ./shared ./client ./analysis ./migrations "./server[postgres,datasets]" \
    # Of cvxpy's solvers only Clarabel is asked, nothing is installed later and nobody runs the libraries' own tests.
    && /opt/sordino/bin/pip uninstall --quiet --yes scs setuptools pip \
    && find /opt/sordino -type d -name tests -prune -exec rm -rf {} +

FROM python:3.11-slim
RUN useradd --uid 10001 --create-home --home-dir /var/lib/sordino sordino
COPY --from=build /opt/sordino /opt/sordino
ENV PATH=/opt/sordino/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    OPENBLAS_NUM_THREADS=1 \
    SORDINO_HOST=0.0.0.0 \
    SORDINO_DATABASE_URL=sqlite:////var/lib/sordino/sordino.sqlite3
WORKDIR /var/lib/sordino
# By number, so that an orchestrator can see that it is not root.
USER 10001
EXPOSE 8000
VOLUME /var/lib/sordino
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=2)"]
STOPSIGNAL SIGTERM
CMD ["sordino", "serve"]

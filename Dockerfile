# The server: API, worker and commands in one image. `docker compose up` starts it with PostgreSQL.
# With `--target spark` Java and Spark too, half a gigabyte more, to add up archives on a cluster.
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

FROM python:3.11-slim AS server
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

FROM build AS build-spark
RUN pip --python /opt/sordino/bin/python install --no-cache-dir -c requirements/constraints.txt "./server[spark]" \
    && find /opt/sordino -type d -name tests -prune -exec rm -rf {} +

FROM server AS spark
USER 0
# Debian's own Java, 17 or 21: both are Spark's. What is mounted at /archives is the user's from the start.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends default-jre-headless procps \
    && rm -rf /var/lib/apt/lists/* \
    && install --directory --owner=10001 /archives
COPY --from=build-spark /opt/sordino /opt/sordino
ENV PYSPARK_PYTHON=/opt/sordino/bin/python
USER 10001
VOLUME /archives
# Nothing here answers /readyz.
HEALTHCHECK NONE

# What is built without a target.
FROM server

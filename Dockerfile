# The server: API, worker and commands in one image. `docker compose up` starts it with PostgreSQL.
# `--target serve`: the API alone, without the planner's and the estimates' mathematics, for more servers of one database.
# `--target shuffler`: the second operator's program, without anything of the server.
# `--target spark`: Java and Spark too, half a gigabyte more, to add up archives on a cluster.
# The digest is one that public repositories pin, said to be Python 3.11.16. It was never pulled here: the engine checks the bytes,
# and where no registry has them, PYTHON_IMAGE=python:3.11-slim takes its place. `docker buildx imagetools inspect
# python:3.11-slim` prints the digest of today.
ARG PYTHON_IMAGE=python:3.11-slim@sha256:9c900dea9e8fb7e16277c179b555cc72d29a352dbc33cff48ad5a0412fd5bfc7

FROM ${PYTHON_IMAGE} AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends binutils \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY shared shared
COPY client client
COPY analysis analysis
COPY migrations migrations
COPY server server
COPY requirements requirements
# Of the server's extras; with `lake` too, 170 MB more, its worker deletes archives in buckets.
ARG EXTRAS=postgres,oidc
RUN python -m venv /opt/sordino \
    && /opt/sordino/bin/pip install --no-cache-dir --require-hashes -r requirements/lock.txt \
    && /opt/sordino/bin/pip install --no-cache-dir --no-build-isolation -c requirements/constraints.txt ./shared ./client ./analysis ./migrations "./server[$EXTRAS]"
# Nothing is installed later, nobody runs the libraries' own tests,
RUN /opt/sordino/bin/pip uninstall --quiet --yes setuptools pip hatchling pathspec pluggy trove-classifiers \
    && cd /opt/sordino/lib/python3*/site-packages \
    && find . -type d -name tests -prune -exec rm -rf {} + \
    # compiles against them or runs them on other databases.
    && find . -type f \( -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.h' -o -name '*.c' -o -name '*.a' \) -delete \
    && rm -rf numpy/distutils numpy/_core/_simd* numpy/_core/*_tests* sqlalchemy/testing fastapi_offline/static/redoc* \
        sqlalchemy/dialects/mssql sqlalchemy/dialects/mysql sqlalchemy/dialects/oracle \
    # Symbols for debuggers are a sixth of what is left. Libraries in folders *.libs were edited after linking, and stripping
    # breaks them. The last line runs what was stripped.
    && find . -type f -name '*.so' -not -path '*.libs/*' -exec strip --strip-unneeded {} + \
    && /opt/sordino/bin/python -c 'import clarabel, psycopg, scipy.linalg, scipy.optimize, scipy.stats, uvloop, numpy as np; \
        a = np.random.default_rng(0).normal(size=(200, 200)); s = np.linalg.svd(a)[1]; t = scipy.linalg.svdvals(a); \
        assert np.allclose(s, t) and np.isclose(np.prod(s / np.exp(np.linalg.slogdet(a)[1] / 200)), 1)'

FROM build AS build-serve
RUN cd /opt/sordino/lib/python3*/site-packages \
    && rm -rf scipy scipy.libs scipy-*.dist-info clarabel clarabel-*.dist-info cryptography cryptography-*.dist-info \
        cffi cffi-*.dist-info _cffi_backend* pycparser pycparser-*.dist-info \
    # Colours of programs in some sixty languages, for help pages that show none.
    && find pygments/lexers -type f -not -name '__init__*' -not -name '_mapping*' -delete

FROM ${PYTHON_IMAGE} AS base
# By number, so that an orchestrator can see that it is not root. What is mounted at /archives, /backups or /keys is the user's from the start.
RUN useradd --uid 10001 --create-home --home-dir /var/lib/sordino sordino \
    && install --directory --owner=10001 /archives /backups \
    && install --directory --owner=10001 --mode=0700 /keys

FROM base AS lean
# Python's own library comes without bytecode, which a read-only file system would have it make at each start.
RUN library=$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))') \
    && rm -rf "$library"/site-packages/* "$library"/../python3/dist-packages/* \
        "$library"/distutils "$library"/ensurepip "$library"/idlelib "$library"/lib2to3 "$library"/pydoc_data \
        "$library"/test "$library"/tkinter "$library"/turtledemo "$library"/config-* \
        "$library"/lib-dynload/_dbm* "$library"/lib-dynload/_gdbm* "$library"/lib-dynload/_tkinter* "$library"/lib-dynload/*_test* \
    && python -m compileall -q "$library"
# What installs or repairs a system is not for a server: of the programs a shell and files' own are left, of the libraries
# those that something left is linked with. The last line runs in what is left.
RUN --mount=from=build,source=/opt/sordino,target=/opt/sordino \
    keep='sh|dash|cat|chmod|cp|date|df|du|echo|env|expr|false|find|grep|head|id|ln|ls|mkdir|mv|nproc|pwd|rm|sed|sleep|sort|stat|tail|tar|test|touch|true|uname|wc|python[0-9.]*' \
    && interpreter=$(readlink -f "$(command -v python)") \
    && linked=$( { find /opt/sordino "$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')" -name '*.so*' -type f; \
            ls /usr/bin/* | grep -E "/($keep)$"; echo "$interpreter"; } | xargs ldd 2>/dev/null | grep -oE '/(usr/)?lib[^ ]+' | xargs readlink -f | sort -u) \
    && find -L /usr/bin -maxdepth 1 -type f | grep -vE "/($keep)$" > /tmp/unused \
    && find /usr/lib/*-linux-gnu -maxdepth 1 -name '*.so*' -type f | grep -vFx "$linked" \
        | grep -vE '/(ld-linux|libc|libdl|libgcc_s|libnss_|libpthread|libresolv|librt)' >> /tmp/unused \
    && xargs -a /tmp/unused rm -f \
    && rm -rf /tmp/unused /usr/sbin/* /usr/lib/apt /usr/lib/dpkg /usr/lib/init /usr/lib/systemd /usr/lib/udev /usr/lib/*/gconv \
        /usr/lib/*/perl* /usr/lib/*/security /usr/share/doc /usr/share/i18n /usr/share/info /usr/share/locale /usr/share/man \
        /usr/share/perl* /usr/share/python-wheels /usr/share/zoneinfo /var/lib/apt /var/lib/dpkg/info /var/cache /var/log/* \
    && find /usr/lib /usr/bin -xtype l -delete \
    && python -c 'import ctypes, hashlib, socket, sqlite3, ssl, zlib; print(socket.getaddrinfo("localhost", 80)[0][4])'

# Without what was deleted, which layers below would keep.
FROM scratch AS runtime
COPY --from=lean / /
ENV PATH=/opt/sordino/bin:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin \
    LANG=C.UTF-8 \
    PYTHONUNBUFFERED=1 \
    OPENBLAS_NUM_THREADS=1 \
    SORDINO_HOST=0.0.0.0 \
    SORDINO_DATABASE_URL=sqlite:////var/lib/sordino/sordino.sqlite3 \
    SORDINO_HEARTBEAT_FILE=/tmp/sordino-worker
WORKDIR /var/lib/sordino
USER 10001
EXPOSE 8000
VOLUME /var/lib/sordino
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s CMD ["sordino", "health"]
STOPSIGNAL SIGTERM
CMD ["sordino", "serve"]

FROM runtime AS serve
COPY --from=build-serve /opt/sordino /opt/sordino
CMD ["sordino", "serve", "--no-worker"]

FROM runtime AS server
COPY --from=build /opt/sordino /opt/sordino

FROM ${PYTHON_IMAGE} AS build-shuffler
WORKDIR /src
COPY shared shared
COPY shuffler shuffler
COPY requirements requirements
RUN python -m venv /opt/shuffler \
    && /opt/shuffler/bin/pip install --no-cache-dir -c requirements/constraints.txt ./shared ./shuffler \
    && /opt/shuffler/bin/pip uninstall --quiet --yes setuptools pip

FROM ${PYTHON_IMAGE} AS shuffler
RUN useradd --uid 10002 --create-home --home-dir /var/lib/shuffler shuffler \
    && install --directory --owner=10002 --mode=0700 /sealed /kept
COPY --from=build-shuffler /opt/shuffler /opt/shuffler
ENV PATH=/opt/shuffler/bin:/usr/local/bin:/usr/bin:/bin \
    LANG=C.UTF-8 \
    PYTHONUNBUFFERED=1 \
    SORDINO_SHUFFLER_FOLDER=/sealed \
    SORDINO_SHUFFLER_KEPT=/kept \
    SORDINO_SHUFFLER_CAMPAIGNS=/campaigns/campaigns.toml \
    SORDINO_SHUFFLER_HOST=0.0.0.0
WORKDIR /var/lib/shuffler
USER 10002
EXPOSE 8100
VOLUME /sealed
VOLUME /kept
# Not whether its collector can be reached: devices are served without it.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8100/health', timeout=4)"]
STOPSIGNAL SIGTERM
CMD ["sordino-shuffler", "serve"]

FROM build AS build-spark
RUN pip --python /opt/sordino/bin/python install --no-cache-dir -c requirements/constraints.txt "./server[spark]" \
    && find /opt/sordino -type d -name tests -prune -exec rm -rf {} +

FROM base AS spark
# Debian's own Java, 17 or 21: both are Spark's.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends default-jre-headless procps \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build-spark /opt/sordino /opt/sordino
ENV PATH=/opt/sordino/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    OPENBLAS_NUM_THREADS=1 \
    PYSPARK_PYTHON=/opt/sordino/bin/python
WORKDIR /var/lib/sordino
USER 10001
VOLUME /archives

# What is built without a target.
FROM server

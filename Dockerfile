# Two images from one file, each with just what its program needs:
#
#   docker build --target engine --tag kb-engine .
#   docker build --target mcp --tag kb-mcp .
#
# Both run as a user without rights, write nothing outside of /data and /tmp, and need no more of
# their surroundings than a read-only root file system. See docs/docker.md.

FROM python:3.11-slim AS wheel
WORKDIR /src
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src ./src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheel .

# The packages go into environments without pip, which the images take over whole.
FROM python:3.11-slim AS packages
COPY constraints.txt /
COPY --from=wheel /wheel /wheel
RUN python -m venv --without-pip /opt/kb

FROM packages AS engine-packages
RUN pip --python /opt/kb/bin/python install --no-cache-dir --constraint /constraints.txt \
    "$(echo /wheel/*.whl)[engine]"

# The MCP server knows the engine only over HTTP: its code and its model can stay away.
FROM packages AS mcp-packages
RUN pip --python /opt/kb/bin/python install --no-cache-dir --constraint /constraints.txt \
        "$(echo /wheel/*.whl)[mcp]" \
    && rm -r /opt/kb/lib/python3.11/site-packages/kb/engine

FROM python:3.11-slim AS program
ENV PATH=/opt/kb/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# A new volume takes over the owner of the folder that it covers.
RUN useradd --system --uid 10001 --user-group --no-create-home --home-dir /nonexistent \
        --shell /usr/sbin/nologin kb \
    && install --directory --owner=kb --group=kb --mode=0700 /data
ENTRYPOINT ["kb"]

FROM program AS mcp
COPY --from=mcp-packages /opt/kb /opt/kb
USER 10001:10001
ENV KB_MCP_HOST=0.0.0.0
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + (os.environ.get('KB_MCP_PORT') or '3000') + '/healthz', timeout=4)"]
CMD ["mcp"]

FROM program AS engine
COPY --from=engine-packages /opt/kb /opt/kb
USER 10001:10001
ENV KB_HOST=0.0.0.0 \
    KB_DATA_DIR=/data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + (os.environ.get('KB_PORT') or '8000') + '/readyz', timeout=4)"]
CMD ["engine"]

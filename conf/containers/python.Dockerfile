# Lineward with Python and uv beside it, for stdio servers that `uvx` brings. As root nothing runs; uv's cache is /tmp, where a
# read-only root needs a volume (docker run --read-only --tmpfs /tmp:exec).
#   docker build -f conf/containers/python.Dockerfile -t lineward:python build/dist
#   docker run -p 8000:8000 lineward:python run -- uvx mcp-server-time
FROM ghcr.io/astral-sh/uv:python3.13-bookworm-slim
ARG TARGETARCH
COPY root/etc/lineward/ /etc/lineward/
COPY bin/lineward-linux-${TARGETARCH} /usr/local/bin/lineward
LABEL org.opencontainers.image.title="lineward" \
      org.opencontainers.image.description="A transparent proxy and gateway for the Model Context Protocol, with Python and uv" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV LINEWARD_LISTEN_ADDRESS=0.0.0.0:8000 LINEWARD_OPS_ADDRESS=0.0.0.0:9464 LINEWARD_LOG_FORMAT=json \
    HOME=/tmp UV_CACHE_DIR=/tmp/uv UV_PYTHON_DOWNLOADS=never
USER 65532:65532
WORKDIR /tmp
EXPOSE 8000 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=120s CMD ["/usr/local/bin/lineward", "healthcheck"]
ENTRYPOINT ["/usr/local/bin/lineward"]
CMD ["run"]

# The binary, authorities to trust and nothing else: no shell, no library. For servers that speak HTTP, and to copy the binary out of.
# Built from what `make dist` leaves in build/dist; conf/scripts/image.mjs makes the same image without an engine, from the last
# stage's settings as they stand here.
#   docker build -f conf/containers/static.Dockerfile -t lineward build/dist
FROM debian:12-slim AS authorities
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates

FROM scratch
ARG TARGETARCH
COPY --from=authorities /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY root/ /
COPY bin/lineward-linux-${TARGETARCH} /lineward
LABEL org.opencontainers.image.title="lineward" \
      org.opencontainers.image.description="A transparent proxy and gateway for the Model Context Protocol" \
      org.opencontainers.image.licenses="Apache-2.0"
# The root may be read-only: Lineward writes nothing but what its configuration names.
ENV LINEWARD_LISTEN_ADDRESS=0.0.0.0:8000 LINEWARD_OPS_ADDRESS=0.0.0.0:9464 LINEWARD_LOG_FORMAT=json
USER 65532:65532
EXPOSE 8000 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s CMD ["/lineward", "healthcheck"]
ENTRYPOINT ["/lineward"]
CMD ["run"]

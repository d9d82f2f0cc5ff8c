# Paybell as one executable on plain Debian: no Node, no npm, no sources, a non-root user.
FROM node:24-bookworm-slim AS build
WORKDIR /paybell
COPY package.json package-lock.json ./
COPY test/generator/package.json test/generator/
# With development dependencies: the executable contains the built files of the API reference.
RUN npm ci
COPY tsconfig.json .env.example ./
COPY src src
COPY build build
RUN npm run build

FROM debian:12-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/paybell --create-home paybell
COPY --from=build /paybell/dist/paybell /usr/local/bin/paybell
USER 10001
WORKDIR /var/lib/paybell
VOLUME /var/lib/paybell
ENV HOST=0.0.0.0 PORT=8080
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s CMD ["paybell", "ready"]
# Stop with a timeout above DELIVERY_TIMEOUT and 32 s, so that attempts in flight can complete: docker stop --timeout 60
STOPSIGNAL SIGTERM
ENTRYPOINT ["paybell"]
CMD ["serve"]

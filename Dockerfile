# The program alone, for servers and workers: docker build -t rehearse .
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ENV CGO_ENABLED=0
RUN go build -trimpath -ldflags="-s -w" -o /out/rehearse ./cmd/rehearse \
 && go run ./release -licences /out/rehearse \
 && mkdir -p /out/work/.rehearse /out/tmp && chmod 1777 /out/tmp

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /usr/local/go/lib/time/zoneinfo.zip /usr/local/go/lib/time/zoneinfo.zip
ENV ZONEINFO=/usr/local/go/lib/time/zoneinfo.zip
COPY --from=build --chown=65532:65532 /out/work /work
COPY --from=build /out/tmp /tmp
COPY --from=build /src/LICENSE /out/THIRD_PARTY_LICENSES /out/rehearse /
USER 65532:65532
WORKDIR /work
EXPOSE 8090
ENTRYPOINT ["/rehearse"]

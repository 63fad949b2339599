# The operator, the admission server and the command line in one image:
#   docker build -t topology-workbench .
# It holds what these need, in the versions of requirements-operator.lock: no notebooks, no tables, no studies.
FROM python:3.12-slim AS build
# The compiler of the base image's Debian, whose releases keep no old versions to pin.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY requirements.lock requirements-operator.lock ./
RUN python -m venv /build && /build/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
RUN pip install --no-cache-dir --prefix=/install --require-hashes -r requirements-operator.lock
COPY . .
RUN /build/bin/python setup.py --quiet bdist_wheel --dist-dir /wheel \
    && pip install --no-cache-dir --prefix=/install --no-deps /wheel/*.whl

FROM python:3.12-slim
LABEL org.opencontainers.image.title="topology-workbench" \
      org.opencontainers.image.description="Operator and admission server of the Topology Workbench" \
      org.opencontainers.image.source="https://github.com/topology-workbench/topology-workbench" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /install /usr/local
USER 65532:65532
ENTRYPOINT ["workbench"]

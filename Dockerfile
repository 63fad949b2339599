# The operator, the admission server and the command line in one image:
#   docker build -t topology-workbench .
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN pip install --no-cache-dir --prefix=/install .

FROM python:3.12-slim
COPY --from=build /install /usr/local
USER 65532
ENTRYPOINT ["workbench"]

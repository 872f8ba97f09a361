# The service as an image: `docker build --tag REPOSITORY:TAG .`
#
# The base is an argument. Builds of released images should pin it by its digest, so that the same
# sources give the same image:
#
#   docker buildx imagetools inspect python:3.13-slim   # prints the digest
#   docker build --build-arg PYTHON_IMAGE=python:3.13-slim@sha256:... .
#
# Both stages use it, since the virtual environment refers to the interpreter it was made with.
ARG PYTHON_IMAGE=python:3.13-slim

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
# Dependencies first: this layer stays while they do. Only wheels, as there is no compiler here.
COPY requirements/build.txt requirements/runtime.txt requirements/
RUN python -m venv --without-pip /opt/venv \
    && pip install --require-hashes --requirement requirements/build.txt \
    && pip --python /opt/venv/bin/python install \
        --require-hashes --only-binary :all: --requirement requirements/runtime.txt
# The project as a wheel, built with the tools installed above and nothing else.
COPY . .
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /dist . \
    && pip --python /opt/venv/bin/python install --no-deps --no-index /dist/*.whl

FROM ${PYTHON_IMAGE}
# Nothing can be installed into a running container: pip goes, and the copy that ensurepip keeps.
RUN python -m pip uninstall --yes --root-user-action ignore pip \
    && rm -rf "$(python -c 'import ensurepip, os; print(os.path.dirname(ensurepip.__file__))')"
COPY --from=build /opt/venv /opt/venv
# The root file system is read-only when it runs. pip has compiled the modules already.
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# A number, so that the kubelet can verify runAsNonRoot.
USER 65532:65532
EXPOSE 9504
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="longhorn-scheduler-extender" \
      org.opencontainers.image.description="A kube-scheduler extender that places pods where Longhorn's disks can really hold their volumes" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# No HEALTHCHECK: Kubernetes ignores it and probes by itself.
ENTRYPOINT ["longhorn-scheduler-extender"]
CMD ["serve"]

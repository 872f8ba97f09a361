# The service as an image: `make image IMAGE=REPOSITORY:TAG`, which adds the labels that depend on
# the commit, or `docker build --tag REPOSITORY:TAG .` without them.
#
# The base is the stage `pinned`. Nothing is released unless its line has a digest, which
# `make base-image` writes; Dependabot proposes newer ones, and reads no arguments. PYTHON_IMAGE is
# another base, such as the same one in a registry of your own.
#
# All stages use it, since the virtual environment refers to the interpreter it was made with.
ARG PYTHON_IMAGE=pinned

FROM python:3.13-slim AS pinned

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

# What is in the environment, as a list in CycloneDX. The tool stays in this stage.
FROM build AS sbom
RUN python -m venv --without-pip /opt/sbom \
    && pip --python /opt/sbom/bin/python install \
        --require-hashes --only-binary :all: --requirement requirements/sbom.txt
RUN /opt/sbom/bin/cyclonedx-py environment /opt/venv/bin/python --pyproject pyproject.toml \
        --output-reproducible --no-validate --output-file /dist/environment.cdx.json \
    && /opt/sbom/bin/python -m supply.sbom \
        /dist/environment.cdx.json requirements/runtime.txt /dist/sbom.cdx.json

FROM ${PYTHON_IMAGE}
# Nothing can be installed into a running container: pip goes, and the copy that ensurepip keeps.
RUN python -m pip uninstall --yes --root-user-action ignore pip \
    && rm -rf "$(python -c 'import ensurepip, os; print(os.path.dirname(ensurepip.__file__))')"
COPY --from=build /opt/venv /opt/venv
COPY --from=sbom /dist/sbom.cdx.json /usr/share/sbom/longhorn-scheduler-extender.cdx.json
# The root file system is read-only when it runs. pip has compiled the modules already.
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# A number, so that the kubelet can verify runAsNonRoot.
USER 65532:65532
EXPOSE 9504
# Those that depend on the commit come from `make image`: better none than a wrong one.
LABEL org.opencontainers.image.title="longhorn-scheduler-extender" \
      org.opencontainers.image.description="A kube-scheduler extender that places pods where Longhorn's disks can really hold their volumes" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="python:3.13-slim"
# No HEALTHCHECK: Kubernetes ignores it and probes by itself.
ENTRYPOINT ["longhorn-scheduler-extender"]
CMD ["serve"]

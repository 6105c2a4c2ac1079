# Two images, by --target:
#   connector  minercdc:local       connector and sandbox, without Java and Spark
#   lake       minercdc-lake:local  the same with Spark, Java and all jars: the lake, and a local Kafka broker; nothing is fetched at its start
# The base may be any image of a Debian with Python 3.11, its `python` and `venv`.
ARG BASE=python:3.11-slim

# What compiles the native path: a C compiler and Python's headers. No image has it. Where Debian's packages cannot be had, the images go
# without the native path, as `minercdc --version` says; with --build-arg NATIVE=required the build fails then.
FROM ${BASE} AS compiler
ARG NATIVE=wanted
RUN headers="$(python -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" \
    && { apt-get update -qq && apt-get install -qq --yes --no-install-recommends gcc libc6-dev $([ -e "$headers" ] || echo python3-dev) \
         || { echo "no C compiler can be had: the images go without the native path" && [ "$NATIVE" != required ]; }; }

# What is installed comes before our source, which changes more often: a new build then takes all of it from the engine's cache.
FROM compiler AS packages
WORKDIR /src
COPY pyproject.toml constraints.txt ./
COPY sandbox/pyproject.toml sandbox/
# The sources of the native path.
COPY src/minercdc/native src/minercdc/native
RUN mkdir --parents src/minercdc sandbox/src/minercdc_sandbox \
    && touch src/minercdc/__init__.py README.md LICENSE sandbox/src/minercdc_sandbox/__init__.py sandbox/README.md sandbox/LICENSE \
    && python -m venv /opt/minercdc \
    && /opt/minercdc/bin/pip install --no-cache-dir --constraint constraints.txt ./sandbox '.[sandbox]'

FROM packages AS source
ARG NATIVE=wanted
COPY src/minercdc /opt/minercdc/lib/python3.11/site-packages/minercdc
COPY src/pyspark_minercdc /opt/minercdc/lib/python3.11/site-packages/pyspark_minercdc
COPY sandbox/src/minercdc_sandbox /opt/minercdc/lib/python3.11/site-packages/minercdc_sandbox
RUN cd /opt/minercdc/lib/python3.11/site-packages && /opt/minercdc/bin/python -m compileall -q minercdc minercdc_sandbox \
    && { [ "$NATIVE" != required ] || /opt/minercdc/bin/python -c 'import minercdc.native._rows'; }

# Package lists, documentation and installers are left out: nothing here uses them, and the image is a third smaller.
FROM ${BASE} AS trimmed
RUN rm -rf /var/cache/* /var/lib/apt/lists /var/log/* /usr/share/doc /usr/share/man /usr/share/locale /usr/share/info \
        /usr/lib/python3/dist-packages/pip /usr/lib/python3/dist-packages/setuptools /usr/share/python-wheels \
        /usr/local/lib/python3.11/site-packages /usr/local/lib/python3.11/ensurepip

# Our own packages come from the stage `source`: a file that two layers have is there twice.
FROM packages AS slim
RUN /opt/minercdc/bin/pip uninstall --yes pip setuptools \
    && rm -r /opt/minercdc/lib/python3.11/site-packages/minercdc /opt/minercdc/lib/python3.11/site-packages/minercdc_sandbox

FROM scratch AS base
COPY --from=trimmed / /
RUN useradd --uid 10001 --home-dir /tmp --no-create-home minercdc \
    && install --directory --owner minercdc --mode 0700 /var/lib/minercdc \
    && install --directory --owner minercdc /var/lib/lake /var/lib/sandbox /var/lib/kafka /var/lib/kafka/data
ENV PATH=/opt/minercdc/bin:/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER minercdc
WORKDIR /tmp
ENTRYPOINT ["minercdc"]
CMD ["--help"]

FROM base AS connector
COPY --from=slim /opt/minercdc /opt/minercdc
COPY --from=source /opt/minercdc/lib/python3.11/site-packages/minercdc /opt/minercdc/lib/python3.11/site-packages/minercdc
COPY --from=source /opt/minercdc/lib/python3.11/site-packages/minercdc_sandbox /opt/minercdc/lib/python3.11/site-packages/minercdc_sandbox

# `minercdc` is installed: pip adds what these extras need, and builds nothing of ours again. PySpark comes as sources; its wheel is used
# once, and not compressed.
FROM packages AS lake-packages
ENV MINERCDC_CACHE=/opt/minercdc/cache
RUN printf '[bdist_wheel]\ncompression = stored\n' > /tmp/stored.cfg \
    && DIST_EXTRA_CONFIG=/tmp/stored.cfg /opt/minercdc/bin/pip install --no-cache-dir --constraint constraints.txt 'minercdc[local,lake]' \
    && rm /tmp/stored.cfg
COPY src/minercdc/errors.py src/minercdc/errors.py
COPY src/minercdc/local src/minercdc/local
RUN PYTHONPATH=src /opt/minercdc/bin/python -m minercdc.local.prepare \
    && /opt/minercdc/bin/pip uninstall --yes pip setuptools \
    && rm -r /opt/minercdc/lib/python3.11/site-packages/minercdc /opt/minercdc/lib/python3.11/site-packages/minercdc_sandbox

FROM base AS lake
ENV MINERCDC_CACHE=/opt/minercdc/cache
COPY --from=lake-packages /opt/minercdc /opt/minercdc
COPY --from=source /opt/minercdc/lib/python3.11/site-packages/minercdc /opt/minercdc/lib/python3.11/site-packages/minercdc
COPY --from=source /opt/minercdc/lib/python3.11/site-packages/minercdc_sandbox /opt/minercdc/lib/python3.11/site-packages/minercdc_sandbox
COPY --from=source /opt/minercdc/lib/python3.11/site-packages/pyspark_minercdc /opt/minercdc/lib/python3.11/site-packages/pyspark_minercdc

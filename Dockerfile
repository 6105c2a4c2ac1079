# The connector, the lake stream and the sandbox in one image; `docker compose` chooses the command.
FROM python:3.11-slim
WORKDIR /opt/minercdc
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
# `local` brings Java for Spark; jars are fetched at the first start of the lake, into the home directory.
RUN pip install --no-cache-dir --constraint constraints.txt '.[sandbox,local,lake]' \
    && useradd --create-home --uid 10001 minercdc \
    && install --directory --owner minercdc /var/lib/minercdc /var/lib/lake /home/minercdc/.cache
USER minercdc
ENTRYPOINT ["minercdc"]
CMD ["--help"]

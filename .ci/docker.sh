#!/usr/bin/env bash
# docker.sh start|stop: a Docker engine with a local Neo4j image for the tests marked `docker`, made by the kit in
# ../shared/docker where no image can be pulled. Says why when it cannot, and never fails: those tests are skipped.
set -uo pipefail
cd "$(dirname "$0")/.."
kit=../shared/docker
image=$(sed -n 's/^ *image: //p' docker/compose.yaml)
scratch=${TMPDIR:-/tmp}/tracegraph-docker
export WORK=$scratch/image DOCKERD_DIR=$scratch/dockerd DEBIAN_FRONTEND=noninteractive

quietly() { # seconds, command...: output goes to a log, its end is shown on failure
    timeout "$@" </dev/null >"$scratch/log" 2>&1 || { tail -5 "$scratch/log"; return 1; }
}

install_packages() {
    local need=()
    command -v dockerd >/dev/null || need+=(docker.io)
    command -v iptables >/dev/null || need+=(iptables)
    command -v busybox >/dev/null || need+=(busybox-static)
    command -v unzip >/dev/null || need+=(unzip)
    command -v mvn >/dev/null || need+=(maven)
    [ ${#need[@]} = 0 ] || { quietly 60 apt-get update -q && quietly 180 apt-get install -y -q --no-install-recommends "${need[@]}"; }
}

start() {
    mkdir -p "$scratch"
    if docker image inspect "$image" >/dev/null 2>&1; then echo "engine and image are there"; return; fi
    [ -d "$kit" ] || { echo "no image $image, and no kit to make one"; return; }
    [ "$(id -u)" = 0 ] && [ -e /etc/debian_version ] || { echo "no image $image: only root on Debian can make one"; return; }
    if install_packages && quietly 60 "$kit/dockerd.sh" start && quietly 240 "$kit/build-image.sh" "$image"; then
        echo "made engine and image in $SECONDS s"
    else
        echo "no engine or image $image could be made in $SECONDS s"
        stop
    fi
}

stop() {
    [ -e "$DOCKERD_DIR/dockerd.pid" ] || return 0  # not our engine
    docker ps -aq --filter label=org.testcontainers=true | xargs -r docker rm -fv >/dev/null
    timeout 60 "$kit/dockerd.sh" stop
}

case ${1:-} in
    start | stop) "$1" || true ;;
    *) echo "usage: docker.sh start|stop" >&2; exit 2 ;;
esac

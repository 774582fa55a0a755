# What several tools need, and source: lists of Debian packages, and functions that install packages
# and build Troupe.
# shellcheck shell=bash disable=SC2034

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

build_packages=(
  cmake ninja-build g++ pkg-config
  libcaf-dev             # actors
  libopenblas-dev        # matrix products
  libhwloc-dev           # the cores, caches and GPUs of this machine
  libucx-dev             # tensors between nodes
  libpmix-dev            # runs under srun and mpirun
  libssl-dev             # TLS between nodes
  libxxhash-dev          # digests of tensors
  libyaml-cpp-dev        # config files
  nlohmann-json3-dev     # reports
  libcli11-dev           # the command line
  libfmt-dev             # text
  libboost-test-dev      # tests
  strace                 # tests of signals at an exact moment
  patchelf               # bundles
)
format_packages=(clang-format)
asan_packages=(clang libclang-rt-dev lld llvm)           # in half the time of GCC
lint_packages=(clang-tidy shellcheck)
docs_packages=(cmake doxygen)                            # the reference of the library
# What task_bench and network_bench compare with.
peer_packages=(
  libtbb-dev libstarpu-dev libsimgrid-dev
  libopenmpi-dev openmpi-bin python3-distributed iperf3 ucx-utils  # between nodes
)

say() { printf '\n== %s\n' "$*"; }
fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# Installs the given packages that are missing. Uses the network only if one is missing.
install_missing() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "This is neither Debian nor Ubuntu: assuming that these packages are installed: $*"
    return
  fi
  local missing=() package
  for package in "$@"; do
    if [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
      missing+=("$package")
    fi
  done
  if ((${#missing[@]} == 0)); then return; fi

  local as_root=(env DEBIAN_FRONTEND=noninteractive)
  if ((EUID != 0)); then
    command -v sudo >/dev/null || fail "packages are missing, and there is no sudo to install \
them. As root: apt-get install ${missing[*]}"
    as_root=(sudo "${as_root[@]}")
  fi
  say "Installing Debian packages, which takes a minute or two: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq \
    || say "Not every package list could be fetched; trying without"
  "${as_root[@]}" apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends \
    "${missing[@]}" >/dev/null \
    || fail "installing failed. Try: apt-get install ${missing[*]}"
}

# Prints how many compilers or tests may run at once: one per core, but at most one per GiB of free
# memory.
parallel_jobs() {
  local cores memory_kib limit
  cores=$(nproc)
  memory_kib=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo 2>/dev/null || true)
  limit=$((${memory_kib:-1048576} / 1048576))
  if ((limit < 1)); then limit=1; fi
  echo $((cores < limit ? cores : limit))
}

# configure PRESET: makes build/PRESET.
configure() { (cd "$root" && cmake --preset "$1" --log-level=WARNING >/dev/null); }

# build PRESET [TARGET…]: configures and builds in build/PRESET.
build() {
  local preset=$1 targets=()
  shift
  if (($# > 0)); then targets=(--target "$@"); fi
  say "Building build/$preset${*:+: $*}"
  configure "$preset"
  (cd "$root" && cmake --build --preset "$preset" --parallel "$(parallel_jobs)" \
    "${targets[@]}")
}

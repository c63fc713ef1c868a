#!/usr/bin/env bash
# What a machine with a GPU is asked for, in parts of some minutes each; without any named, all of them:
#
#   examples/bench/gpu_run.sh [tests] [warm] [table] [trace] [drawn] [sanitize]
#
# tests     what `pytest -m gpu` has, in as many processes as there are cores
# warm      compiles and checks the kernels of the suite, and those of peers, for what follows
# table     the table of the suite, which goes to docs/benchmarks_gpu.md
# trace     the time of each kernel
# drawn     programs of tests/independent on the GPU
# sanitize  the suite under compute-sanitizer, as far as it is installed
#
# It installs into .venv, or uses PYTHON. JAX, PyTorch, Warp and CuPy take part where they are installed for the GPU.
# What is printed goes to $OUT, too. SECONDS_EACH bounds each part; with ALONE peers are not warmed.
set -uo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
if [ -z "${PYTHON:-}" ]; then
    python3 -m venv .venv
    .venv/bin/python -m pip install --quiet -e ".[dev,cuda]"
    PYTHON="$root/.venv/bin/python"
fi
out=${OUT:-$root/gpu_run}
each=${SECONDS_EACH:-300}
mkdir -p "$out"
export JAX_PLATFORMS=cuda,cpu JAX_ENABLE_X64=1 XLA_PYTHON_CLIENT_PREALLOCATE=false PYTHONUNBUFFERED=1 PYTHONPATH="$root:${PYTHONPATH:-}"
export LOOPDIFF_CACHE_DIR=${LOOPDIFF_CACHE_DIR:-/tmp/gpu_run/cache} JAX_COMPILATION_CACHE_DIR=/tmp/gpu_run/jax JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader

tests() {
    timeout -s INT -k 20 "$each" "$PYTHON" -m pytest -p no:cacheprovider -W ignore -n "$(nproc)" -m gpu --tb=short -q tests/cuda
}
warm() {
    cd examples/bench
    sed -n 's/^    Kernel("\([a-z0-9_]*\)".*/\1/p; s/^        "\([a-z0-9_]*\)", (.*/\1/p' kernels.py |
        xargs -P "$(nproc)" -n 1 timeout "$each" "$PYTHON" -W ignore gpu.py --check ${ALONE:+--alone}
}
table() { cd examples/bench && timeout "$each" "$PYTHON" -W ignore gpu.py --seconds $((each * 3 / 4)) --page "$out/benchmarks_gpu.md"; }
trace() { cd examples/bench && timeout "$each" "$PYTHON" -W ignore gpu_trace.py; }
drawn() {
    "$PYTHON" -W ignore -m tests.independent --setting gpu --seconds "$each" --seed "${SEED:-1}" --processes "$(nproc)" --save "$out/drawn"
    cat "$out"/drawn/records-*.jsonl >"$out/drawn.jsonl" && rm -r "$out/drawn"
}
sanitize() {
    for tool in memcheck racecheck; do
        timeout "$each" compute-sanitizer --tool "$tool" "$PYTHON" -W ignore -m pytest -p no:cacheprovider -q -m gpu tests/cuda/test_gpu.py -k same_bits
    done
}
for part in ${*:-tests warm table trace drawn sanitize}; do
    echo "== $part, $(date +%T)"
    ("$part") 2>&1 | tee "$out/$part.log"
done
date +%T

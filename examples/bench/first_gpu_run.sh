#!/usr/bin/env bash
# Everything that a machine with a GPU is asked for, in under ten minutes: the tests that need one, what a launch costs,
# and the table of the suite, which goes to docs/benchmarks_gpu.md.
#
#   examples/bench/first_gpu_run.sh            installs into .venv
#   PYTHON=python3 examples/bench/first_gpu_run.sh   uses what is there
#
# JAX, PyTorch, Warp and CuPy take part in the table where they are installed for the GPU.
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ -z "${PYTHON:-}" ]; then
    python3 -m venv .venv
    .venv/bin/python -m pip install --quiet -e ".[dev,cuda]"
    PYTHON="$PWD/.venv/bin/python"
fi
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
timeout 300 "$PYTHON" -m pytest -q -m gpu -x tests/cuda/test_gpu.py
cd examples/bench
timeout 60 "$PYTHON" launches.py
timeout 240 "$PYTHON" gpu.py --page ../../docs/benchmarks_gpu.md

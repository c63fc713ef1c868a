"""JAX on several processes: each has some of the data and runs sweeps of its own, and XLA sums the gradients."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from time import perf_counter

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from loops import START, share, surprise

import loopdiff.jax

loss = loopdiff.jax.wrap(surprise)


def work(process: int, processes: int, address: str) -> None:
    """What each process does. Started by a cluster's own means, `initialize()` needs no arguments."""
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(address, processes, process)
    mesh = jax.make_mesh((processes,), ("rows",))
    data = jax.make_array_from_process_local_data(NamedSharding(mesh, P("rows")), share(process))

    def summed(p, rows):
        return jax.lax.psum(loss(p, rows), "rows")

    of_all = jax.shard_map(summed, mesh=mesh, in_specs=(P(), P("rows")), out_specs=P())
    value_and_grad = jax.jit(jax.value_and_grad(of_all))
    times, values = [perf_counter()], []
    for _ in range(21):
        values.append(jax.block_until_ready(value_and_grad(jnp.asarray(START), data)))
        times.append(perf_counter())
    first, *later = np.diff(times)
    print(json.dumps([np.hstack(values[-1]).tolist(), first, np.median(later)]))


def main(processes: int = 2) -> None:
    value, g = jax.value_and_grad(loss)(jnp.asarray(START), jnp.concatenate([share(k) for k in range(processes)]))
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    commands = [[sys.executable, __file__, str(k), str(processes), address] for k in range(processes)]
    running = [subprocess.Popen(c, stdout=subprocess.PIPE, text=True) for c in commands]
    for process, answer in enumerate([r.communicate(timeout=120)[0] for r in running]):
        found, first, later = json.loads(answer.splitlines()[-1])
        assert np.allclose(found, [value, *g], rtol=1e-12, atol=0.0)
        print(f"process {process}: first gradient after {first:.2f} s, then {1e3 * later:.2f} ms each")
    print(f"gradient of {processes} processes {g.round(2)}, as of one")


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    if len(sys.argv) > 2:
        work(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    else:
        main(*map(int, sys.argv[1:]))

"""PyTorch's own checks, `gradcheck`, `gradgradcheck` and `opcheck`, on programs of the corpus."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.autograd import gradcheck, gradgradcheck  # noqa: E402
from torch.func import grad  # noqa: E402

from loopdiff import vectorize_grad  # noqa: E402
from loopdiff.torch import wrap  # noqa: E402
from loopdiff.torch.functions import PROGRAMS  # noqa: E402
from tests.corpus import BY_NAME  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
NAMES = (
    "matmul_loss", "laplacian_energy", "seidel_2d", "cholesky", "forward_substitution", "scatter_squares",
    "leaky_relu", "linear_recurrence", "max_pool", "gathered_products", "spmv_csr", "gather_sines", "range_descending",
    "augmented_elements", "two_returned_arrays", "while_with_maximum",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_by_the_checks_of_pytorch(name: str) -> None:
    entry = BY_NAME[name]
    f = wrap(vectorize_grad(wrt=entry.wrt)(entry.function))
    args = {n: torch.from_numpy(v.copy()) if isinstance(v, np.ndarray) else v for n, v in entry.args().items()}
    fixed = {n: v for n, v in args.items() if n not in entry.wrt}
    leaves = [torch.as_tensor(args[n], dtype=torch.float64).clone().requires_grad_() for n in entry.wrt]

    def of_leaves(*values: Any) -> Any:
        found = f(**fixed, **dict(zip(entry.wrt, values, strict=True)))
        every = found if isinstance(found, tuple) else (found,)
        return tuple(t for t in every if t.is_floating_point())

    assert gradcheck(of_leaves, leaves, fast_mode=True, check_forward_ad=True)
    assert gradgradcheck(of_leaves, leaves, fast_mode=True, check_fwd_over_rev=True)
    opcheck(lambda *values: sum(t.sum() for t in of_leaves(*values)), leaves)


def opcheck(function: Any, leaves: Any) -> None:
    """Check the operation as `function` calls it, and its gradient."""
    met: list[tuple[Any, str]] = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if "loopdiff" in str(operation):
                met.append(([t.detach().clone() for t in args[0]], args[1]))
            return operation(*args, **(kwargs or {}))

    before = set(PROGRAMS)
    with Watch():
        grad(function, tuple(range(len(leaves))))(*(leaf.detach() for leaf in leaves))
    assert len(met) == 2
    assert {text.partition("/")[0] for _, text in met} <= before | set(PROGRAMS)
    for tensors, text in met:
        for leaf in tensors:
            leaf.requires_grad_(leaf.is_floating_point() and text.split("/")[1] == "")
        found = torch.library.opcheck(torch.ops.loopdiff.evaluate.default, (tensors, text))
        assert set(found.values()) == {"SUCCESS"}

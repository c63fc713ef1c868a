"""What is said of arrays and tables of libraries that may not be installed here."""

from __future__ import annotations

import pytest

from loopdiff import ArgumentError, vectorize_grad


@vectorize_grad
def first(x):
    return x[0]


def value_of(module: str, name: str) -> object:
    """An object of a class called `name` in `module`, and one of a class below it."""
    above = type(name, (), {"__module__": module, "__slots__": ()})
    return type("Own", (above,), {"__module__": "somewhere"})()


@pytest.mark.parametrize(
    ("module", "name", "said", "hint"),
    [
        ("torch", "Tensor", "is a tensor of PyTorch", "pass `x.numpy()`, or call `loopdiff.torch.wrap(f)`"),
        ("tensorflow.python", "EagerTensor", "is a tensor of TensorFlow", "pass `x.numpy()`"),
        ("pandas.core.series", "Series", "is a table or column of pandas", "pass `x.to_numpy()`"),
        ("polars.series", "Series", "is a table or column of polars", "pass `x.to_numpy()`"),
        ("xarray.core", "DataArray", "is an array of xarray", "pass `x.values`"),
        ("scipy.sparse._csr", "csr_matrix", "is a sparse matrix", "pass `x.toarray()`, or `x.data`"),
    ],
)
def test_each_has_its_own_sentence(module: str, name: str, said: str, hint: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        first(value_of(module, name))
    assert f"LD210: `x` {said}" in str(caught.value)
    assert f"hint: {hint}" in str(caught.value)

"""Log densities, constraint transforms, and log likelihoods of sequences.

`probability.normal(x, mean, scale)` is the LOG of the normal density, and so are all operators of `continuous`,
`discrete` and `multivariate`. They broadcast, are -inf outside of the support, with a derivative of zero, and NaN where
a parameter is outside of its domain. `transforms` has maps from numbers without bounds to what parameters may be, with
their log Jacobians; `chains` what is found by a pass along a sequence.

```python
from loopdiff import vectorize_grad
from loopdiff.kernels import probability


@vectorize_grad
def log_posterior(theta, y):
    scale, log_jacobian = probability.positive(theta[1])
    prior = probability.normal(theta[0], 0.0, 10.0) + probability.half_cauchy(scale, 2.5)
    return probability.normal(y, theta[0], scale).sum() + prior + log_jacobian
```
"""

from loopdiff.kernels.probability.chains import chain_log_partition, hidden_markov, kalman, linear_chain_crf
from loopdiff.kernels.probability.continuous import (
    beta,
    cauchy,
    exponential,
    gamma,
    half_cauchy,
    half_normal,
    inverse_gamma,
    laplace,
    logistic,
    lognormal,
    normal,
    student_t,
    truncated_normal,
    uniform,
    von_mises,
    weibull,
)
from loopdiff.kernels.probability.discrete import bernoulli, binomial, categorical, negative_binomial, poisson
from loopdiff.kernels.probability.multivariate import dirichlet, lkj_cholesky, mixture, multivariate_normal, wishart
from loopdiff.kernels.probability.transforms import (
    correlation_cholesky,
    interval,
    ordered_vector,
    positive,
    simplex,
    unit_vector,
)

__all__ = [
    # Log densities of numbers
    "beta",
    "cauchy",
    "exponential",
    "gamma",
    "half_cauchy",
    "half_normal",
    "inverse_gamma",
    "laplace",
    "logistic",
    "lognormal",
    "normal",
    "student_t",
    "truncated_normal",
    "uniform",
    "von_mises",
    "weibull",
    # Log probabilities of counts and choices
    "bernoulli",
    "binomial",
    "categorical",
    "negative_binomial",
    "poisson",
    # Log densities of vectors and matrices
    "dirichlet",
    "lkj_cholesky",
    "mixture",
    "multivariate_normal",
    "wishart",
    # Transforms
    "correlation_cholesky",
    "interval",
    "ordered_vector",
    "positive",
    "simplex",
    "unit_vector",
    # Sequences
    "chain_log_partition",
    "hidden_markov",
    "kalman",
    "linear_chain_crf",
]

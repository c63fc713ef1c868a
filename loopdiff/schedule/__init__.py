"""Which loop becomes what, chosen by the performance model among what the dependences allow."""

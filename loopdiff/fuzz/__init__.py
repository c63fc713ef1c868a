"""Random programs of the accepted language, judged by plain Python, dual numbers and the identity of the two modes."""

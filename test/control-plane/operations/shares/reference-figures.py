"""Figures of scipy for sequential-test.test.ts: python reference-figures.py > reference-figures.json

Uses other algorithms than the product: scipy's beta function, a bounded scalar minimisation for the likelihood
under a difference, and Brent's method for the ends of the interval.
"""
import json
import math

import scipy
from scipy.optimize import brentq, minimize_scalar
from scipy.special import betaln, xlogy

ALPHA = 0.002
COUNTS = [
    (3, 40, 2, 300),
    (0, 25, 0, 225),
    (12, 50, 40, 450),
    (30, 30, 10, 30),
    (120, 1000, 810, 9000),
    (1, 500, 95, 4500),
    (5000, 20000, 45500, 180000),
    (7, 10, 0, 0),
]
DIFFERENCES = [-0.2, -0.05, 0.0, 0.01, 0.05, 0.3]


def mixture(hits, calls):
    return betaln(hits + 0.5, calls - hits + 0.5) - betaln(0.5, 0.5)


def likelihood(a, n, b, m, d):
    low, high = max(0.0, -d), min(1.0, 1.0 - d)

    def negative(q):
        p = min(1.0, max(0.0, q + d))
        return -(xlogy(a, p) + xlogy(n - a, 1 - p) + xlogy(b, q) + xlogy(m - b, 1 - q))

    found = minimize_scalar(negative, bounds=(low, high), method="bounded", options={"xatol": 1e-13})
    return -min(found.fun, negative(low), negative(high))


def evidence(a, n, b, m, d):
    return mixture(a, n) + mixture(b, m) - likelihood(a, n, b, m, d)


def interval(a, n, b, m):
    def excess(d):
        return evidence(a, n, b, m, d) + math.log(ALPHA)

    centre = a / n - b / m if n and m else 0.0
    low = -1.0 if excess(-1.0) < 0 else brentq(excess, -1 + 1e-9, centre, xtol=1e-11)
    high = 1.0 if excess(1.0) < 0 else brentq(excess, centre, 1 - 1e-9, xtol=1e-11)
    return low, high


def case(a, n, b, m):
    low, high = interval(a, n, b, m)
    return {
        "a": {"hits": a, "calls": n},
        "b": {"hits": b, "calls": m},
        "evidence": [{"difference": d, "ln": evidence(a, n, b, m, d)} for d in DIFFERENCES],
        "low": low,
        "high": high,
    }


print(json.dumps({"made_by": f"scipy {scipy.__version__}", "alpha": ALPHA, "cases": [case(*c) for c in COUNTS]}, indent=2))

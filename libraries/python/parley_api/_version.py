"""The library's version, which is the product's (`npm run libraries` sets it)."""

VERSION = "0.1.0"

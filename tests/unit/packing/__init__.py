"""Tests of packing: only here it is compared with trying everything."""

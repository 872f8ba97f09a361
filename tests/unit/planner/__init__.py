"""Tests of plans in memory: by hand, at random under a judge, against kube-scheduler."""

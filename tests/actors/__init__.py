"""The parts of a cluster besides us that a test without hardware must play.

Kubelets, the CSI provisioner and Longhorn itself, against any API server: the real one in
`tests/e2e`, or the one in memory under virtual time. Only there Kubernetes' own programs are
played, too: kube-scheduler, and what binds claims.
"""

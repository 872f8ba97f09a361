"""CustomResourceDefinitions of the Longhorn kinds, as small as the API server takes them.

Longhorn's own have schemas and a status subresource. Here every field is kept and each object is
written as a whole, so that a test can put anything a cluster might hold.
"""

from tests.actors.api import Object

GROUP, VERSION = "longhorn.io", "v1beta2"
KINDS = {
    "nodes": "Node",
    "volumes": "Volume",
    "replicas": "Replica",
    "settings": "Setting",
    "backingimages": "BackingImage",
}


def definitions() -> list[Object]:
    return [_definition(plural, kind) for plural, kind in KINDS.items()]


def _definition(plural: str, kind: str) -> Object:
    return {
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "x-kubernetes-preserve-unknown-fields": True,
                        }
                    },
                }
            ],
        },
    }

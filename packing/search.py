"""Exact depth-first search over item types and bins, for when the quick ways said nothing.

Equal items are one *type* with a count. A node of the search is the counts left and the room left
in each bin. At each node either the type with the fewest bins is tried in each of them, or a bin
that must still take something is given each type it can take, whichever branches less. What makes
it small:

- *Useful room.* A bin counts only with what the types left can really fill of it (`Rooms`). When
  the types of a group (all; those confined to some kinds; the large ones) need more than that, in
  bytes or in number, the node is dead. When they would need more without some bin, that bin must
  take one of them.
- *Symmetry.* Bins with the same types and the same useful room are interchangeable now and
  whatever follows, so one of them is tried. Counts do the same for equal items.
- *Refuted moves.* If no packing puts type t into bin b, then neither does one that starts with
  another move, so the node's later moves are searched without t in b (nor in b's twins).
- *Dead nodes are remembered* by counts and useful rooms, at most one for each step.
- *Dominance.* Let t alone fill all that bin b can usefully hold, in both dimensions, and let every
  type that b can take be allowed wherever t is. Then t may be put into b at once: take any packing
  of what is left, with t in some other bin c and a set X in b. X needs no more than t does, in
  both dimensions, and may be in c, so exchanging t and X gives a packing too (and one without
  refuted moves, for no packing has them). A dimension that cannot bind (all items together fit the
  smallest bin) is dropped first, so that this and all else work as in one dimension.

Types are tried largest first, bins least useful room first: the first descent is a greedy packing.
"""

from collections.abc import Sequence

from packing.problem import Move, Node, Problem
from packing.types import Bin, Infeasible, Item, Outcome, Packed, Undecided


def search(items: Sequence[Item], bins: Sequence[Bin], *, step_limit: int) -> Outcome:
    """Find a packing, or prove that there is none.

    Every item must fit some bin on its own, and no bin may have a negative room.

    Complexity: a placement takes O(bins * (types + groups)), and above some 4,000 of these counts
    as several steps, so that *step_limit* bounds time and memory whatever the input.
    """
    problem = Problem(items, bins)
    root = problem.frame(problem.root(), dead=frozenset())
    stack = [root] if root else []
    dead: set[object] = set()
    steps = 0
    while stack:
        frame = stack[-1]
        if frame.move:
            _refute(frame.node, frame.move)
        frame.move = next(frame.moves, None)
        if frame.move is None:
            dead.add(stack.pop().key)
            continue
        if steps + problem.charge > step_limit:
            return Undecided(steps)
        steps += problem.charge
        child = problem.place(frame.node, frame.move)
        if not child.left_mask:
            return Packed(problem.assignment(stack), steps)
        below = problem.frame(child, dead=dead)
        if below:
            stack.append(below)
    return Infeasible(steps)


def _refute(node: Node, move: Move) -> None:
    type_, twins = move
    for index in twins:
        node.takes[index] &= ~(1 << type_)

"""Exact depth-first search over item types and bins, for what the quick ways leave undecided.

Equal items are one *type* with a count. A node of the search is the counts left and the room left
in each bin. Each node is searched in one of two ways, whichever has fewer branches: try the type
with the fewest bins in each of them, or take a bin that must still get an item and try each type
it can take. These keep the search small:

- *Useful room.* Only as much of a bin counts as the types left can really fill (`Rooms`). When the
  types of a group (all; those confined to some kinds; the large ones) need more than all bins have,
  in bytes or in number, the node is dead: it has no packing. When they would need more than all
  bins but one have, that bin must take one of them.
- *Symmetry.* Bins with the same types and the same useful room (*twins*) can be exchanged in any
  packing of what is left, so only one of them is tried. Counts do the same for equal items.
- *Refuted moves.* If no packing of a node puts type t into bin b, then none that begins with
  another move does either. So the node's later moves are searched without t in b and its twins.
- *Dead nodes are remembered* by counts and useful rooms: at most one for each step.
- *Dominance.* Let t alone fill all that bin b can usefully hold, in both dimensions, and let every
  type that b can take be allowed wherever t is. Then t may be put into b at once. Proof: take any
  packing of what is left, with t in some other bin c and a set X in b. X needs no more than t does,
  in both dimensions, and may be in c, so exchanging t and X gives a packing too. It has no refuted
  moves, because no packing has. A dimension that decides nothing (all items together fit the
  smallest bin) is dropped first; what is left is then a problem of one dimension.

Types are tried largest first, and bins with the least useful room first, so the first descent is a
greedy packing.
"""

from collections.abc import Sequence

from packing.problem import Move, Node, Problem
from packing.types import Bin, Infeasible, Item, Outcome, Packed, Undecided

_SUMS_PER_STEP = 400
"""So many sums are listed in the time of a step (`packing.bounds.Rooms`)."""


def search(items: Sequence[Item], bins: Sequence[Bin], *, step_limit: int) -> Outcome:
    """Find a packing, or prove that there is none.

    Every item must fit some bin on its own, and no bin may have a negative room.

    Complexity: a step takes O(bins * (types + groups)). When that is more than about 4,000, it
    counts as several, so *step_limit* bounds time and memory for any input.
    """
    problem = Problem(items, bins)
    root = problem.frame(problem.root(), dead=frozenset())
    stack = [root] if root else []
    dead: set[object] = set()
    moves = 0
    while stack:
        steps = moves + problem.rooms.listed // _SUMS_PER_STEP
        frame = stack[-1]
        if frame.move:
            _refute(frame.node, frame.move)
        frame.move = next(frame.moves, None)
        if frame.move is None:
            dead.add(stack.pop().key)
            continue
        if steps + problem.charge > step_limit:
            return Undecided(steps)
        moves += problem.charge
        steps += problem.charge
        child = problem.place(frame.node, frame.move)
        if not child.left_mask:
            return Packed(problem.assignment(stack), steps)
        below = problem.frame(child, dead=dead)
        if below:
            stack.append(below)
    return Infeasible(moves + problem.rooms.listed // _SUMS_PER_STEP)


def _refute(node: Node, move: Move) -> None:
    type_, twins = move
    for index in twins:
        node.takes[index] &= ~(1 << type_)

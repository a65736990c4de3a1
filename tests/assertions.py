"""The assertions of the contract and the field rows that a test may name, and the parts that some of them wait for.

An id leaves `WAITS` when its part is built; from then on a report without a test for it fails.
"""

from __future__ import annotations

ASSERTIONS: dict[str, str] = {
    "D1": "the head moves in one step; a reader never sees a mix",
    "D2": "the old head answers during a build and after a failed one",
    "D3": "where units are cut, and keys that survive rebuilds",
    "D4": "recall by words, substrings, vectors, identity, CJK and punctuation",
    "D5": "fusion, rerank and budget numbers; every exclusion reason",
    "D6": "returned fragments equal the stored trace",
    "D7": "failed and interrupted runs are kept, bounded; history never breaks retrieval",
    "D8": "evidence rules and compare-and-set of cases",
    "D9": "four benchmark variants, checked by hand and by a second library",
    "D10": "retention of runs and blobs",
    "D11": "clear removes unpinned runs only",
    "D12": "scope violation and stale result are told apart",
    "D13": "one wire shape in OpenAPI, MCP and Python",
    "D14": "delta round trip; foreign or damaged state refused",
    "D15": "an exported set reports the same after import",
    "D16": "every earlier schema migrates; newer and damaged ones are handled",
    "T0-1": "only current entries are injected",
    "T0-2": "candidates of another snapshot inject no text",
    "T0-3": "the envelope never exceeds its budget",
    "T0-4": "seen counts deliveries, once",
    "T0-5": "the newer request stays",
    "T0-6": "documented numbers are the numbers in use",
    "T0-7": "a catalog, or an explicit empty one, when nothing is recalled",
    "T1-1": "text, status and miv stand together after a restart",
    "T1-2": "a fault at every write step leaves all old or all new",
    "T1-3": "retracted means gone at recall and at injection, and auditable",
    "T1-4": "concurrent writers and outside edits lose nothing",
    "T1-5": "status changes miv, a no-op does not, and mivs have no order",
    "T1-6": "one damaged source leaves the others searchable",
    "T2-1": "exactly the new inputs are encoded",
    "T2-2": "one edited block encodes one input",
    "T2-3": "another engine identity shares no vector",
    "T2-4": "deleting and retracting encode nothing",
    "T2-5": "debounce and max wait on a virtual clock",
    "T2-6": "a fault at each publish step mixes nothing",
    "T2-7": "delta transfer: wrong base, replay, missing page",
    "T2-8": "the real encoder gets exactly the planned inputs",
    "T3-1": "fusion sees ranks, not scores",
    "T3-2": "final rank alone decides the order",
    "T3-3": "lexical hits stand without the dense arm",
    "T3-4": "both adapters decide alike",
    "T3-5": "a missing score stays null; RRF is no similarity",
    "T3-6": "one observation, one activation",
    "T3-7": "repeats add nothing; fusion can be recomputed by hand",
    "T4-1": "a lost card without record is refused",
    "T4-2": "reorder keeps ids; rename supersedes",
    "T4-3": "the user zone is the user's, byte for byte",
    "T4-4": "derived cards and catalog equal the snapshot's",
    "T4-5": "each lint rule both ways",
    "T4-6": "archiving is idempotent and found",
    "T4-7": "a person's later edit wins",
    "T5-1": "same inputs, same rows; identities required",
    "T5-2": "a failing rewrite leaves the original candidates",
    "T5-3": "one rewrite, two queries, nothing late",
    "T5-4": "a lying reranker is rejected",
    "T5-5": "no call beyond its reservation",
    "T5-6": "admission needs more reach without more noise",
    "T5-7": "a conflict is reported, never edited",
    "T5-8": "the two gates are separate and exact",
    "T6-1": "the compatible profile works without generation",
    "T6-2": "each part switched off degrades as documented",
    "T6-3": "resources stay within limits registered before the run",
    "T6-4": "an engine switch mixes nothing",
    "T6-5": "the whole dynamic text is counted",
    "T6-6": "basic switches keep status and budget",
    "T6-7": "the wheel does the main job outside the tree",
}

_PARTS: dict[str, str] = {
    "injection": "T0-1 T0-2 T0-3 T0-4 T0-5 T0-6 T0-7 T3-4 T3-6",
    "experiments": "T5-1 T5-2 T5-3 T5-4 T5-5 T5-6 T5-7 T5-8",
    "profiles": "T6-1 T6-2 T6-3 T6-5 T6-6 T6-7",
}

WAITS: dict[str, str] = {name: part for part, names in _PARTS.items() for name in names.split()}

_NO_SUCH_ROW = {4, 10, 13, 17, 23, 27, 33, 36, 44, 53, 58, 63, 69, 74, 82, 93, 100, 104, 111, 120, 126, 133, 138}
_NO_SUCH_ROW |= {139, 140, 144}

FIELD_ROWS: frozenset[int] = frozenset(range(1, 146)) - _NO_SUCH_ROW

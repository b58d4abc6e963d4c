"""Sparse vectors equal to those of FastEmbed: `SparseTextEmbedding("Qdrant/bm25")` is a replacement for its class.

>>> from forage.sparse import SparseTextEmbedding
>>> model = SparseTextEmbedding("Qdrant/bm25")
>>> [document] = model.embed(["retries of a failed request"])
>>> len(document.indices)
3

The arrays are numpy arrays, so numpy must be installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _forage

BM25 = "Qdrant/bm25"


@dataclass
class SparseEmbedding:
    """A sparse vector: the weight of each index."""

    values: NDArray[np.float32]
    indices: NDArray[np.int64]

    def as_object(self) -> dict[str, NDArray[Any]]:
        """Returns both arrays by name."""
        return {"values": self.values, "indices": self.indices}

    def as_dict(self) -> dict[int, float]:
        """Returns the weight of each index."""
        return {int(index): float(value) for index, value in zip(self.indices, self.values)}

    @classmethod
    def from_dict(cls, data: dict[int, float]) -> SparseEmbedding:
        """Creates a vector from the weight of each index."""
        return cls(np.array(list(data.values()), dtype=np.float32), np.array(list(data), dtype=np.int64))


def _embedding(vector: tuple[bytes, bytes]) -> SparseEmbedding:
    indices, values = vector
    ids = np.frombuffer(indices, dtype=np.uint32).astype(np.int64)
    return SparseEmbedding(np.frombuffer(values, dtype=np.float32).copy(), ids)


class SparseTextEmbedding:
    """FastEmbed's `Qdrant/bm25`: the same ids and weights for the same texts, rounded to 32 bits as Qdrant stores them.

    ``language`` and ``disable_stemmer`` have the same meaning as in FastEmbed. Nothing is downloaded, so FastEmbed's arguments for
    downloads and devices have no effect. Other values of ``k``, ``b`` and ``avg_len`` than the defaults are not supported.
    """

    def __init__(
        self,
        model_name: str = BM25,
        cache_dir: str | None = None,
        threads: int | None = None,
        *,
        language: str = "english",
        disable_stemmer: bool = False,
        providers: Any = None,
        cuda: Any = None,
        device_ids: Any = None,
        lazy_load: bool = False,
        local_files_only: bool = False,
        specific_model_path: str | None = None,
    ) -> None:
        if model_name != BM25:
            raise ValueError(f"unknown model {model_name!r}; the only supported model is {BM25}")
        self.model_name = model_name
        self._raw = _forage.RawBm25(language, not disable_stemmer)

    def embed(
        self, documents: str | Iterable[str], batch_size: int = 256, parallel: int | None = None, **_: Any
    ) -> Iterator[SparseEmbedding]:
        """Returns the vectors of documents. ``parallel`` is the number of threads for a batch. 0 uses one per processor."""
        texts = iter([documents] if isinstance(documents, str) else documents)
        if batch_size < 1 or (parallel is not None and parallel < 0):
            raise ValueError("`batch_size` must be at least 1, and `parallel` at least 0")
        threads = 1 if parallel is None else parallel
        while batch := list(islice(texts, batch_size)):
            yield from map(_embedding, self._raw.documents(batch, threads))

    def passage_embed(self, texts: Iterable[str], **settings: Any) -> Iterator[SparseEmbedding]:
        """Returns the vectors of documents, like :meth:`embed`."""
        yield from self.embed(texts, **settings)

    def query_embed(self, query: str | Iterable[str], **_: Any) -> Iterator[SparseEmbedding]:
        """Returns the vectors of queries."""
        yield from (_embedding(self._raw.query(text)) for text in ([query] if isinstance(query, str) else query))

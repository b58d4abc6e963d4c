"""Compares the sparse encoder with FastEmbed's own, which only needs stop word lists."""

import json
import os
import shutil
from pathlib import Path

import forage
import numpy as np
import pytest
from fastembed import SparseTextEmbedding as FastEmbeds
from forage.sparse import SparseEmbedding, SparseTextEmbedding

CRATE = Path(__file__).parents[2] / "forage-lookup"
TEXTS = [json.loads(line)["text"] for line in open(CRATE / "tests/golden/bm25.jsonl")]


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    directory = tmp_path_factory.mktemp("bm25")
    for file in (CRATE / "src/stop_words").iterdir():
        shutil.copy(file, directory)
    return str(directory)


def equal(ours, theirs):
    """Returns whether ids and 32-bit weights are equal."""
    assert ours.indices.dtype == theirs.indices.dtype
    weights = {int(index): np.float32(value) for index, value in zip(theirs.indices, theirs.values)}
    return weights == {int(index): value for index, value in zip(ours.indices, ours.values)}


@pytest.mark.parametrize("settings", [{}, {"language": "german"}, {"disable_stemmer": True}])
def test_vectors_equal_those_of_fastembed(lists, settings):
    theirs = FastEmbeds("Qdrant/bm25", specific_model_path=lists, **settings)
    ours = SparseTextEmbedding("Qdrant/bm25", specific_model_path=lists, **settings)
    texts = TEXTS + ["Die Wiederholungen schlugen alle fehl", ""]
    expected = list(theirs.embed(texts))
    for given in ({}, {"parallel": 0}, {"parallel": 2, "batch_size": 7}, {"batch_size": 1}):
        documents = list(ours.embed(texts, **given))
        assert len(documents) == len(texts) and all(map(equal, documents, expected)), given
    assert all(map(equal, ours.passage_embed(texts), expected))
    assert all(map(equal, ours.query_embed(texts), theirs.query_embed(texts)))
    assert equal(next(ours.embed(texts[0])), expected[0]) and equal(next(ours.query_embed("retries")), next(theirs.query_embed("retries")))
    assert os.listdir(lists)


def test_vector_converts_like_fastembed():
    [vector] = SparseTextEmbedding().embed(["retry retries"])
    assert vector.as_object()["indices"] is vector.indices
    restored = SparseEmbedding.from_dict(vector.as_dict())
    assert (restored.indices == vector.indices).all() and (restored.values == vector.values).all()


def test_unsupported_arguments_raise():
    with pytest.raises(ValueError, match="Qdrant/bm25"):
        SparseTextEmbedding("prithivida/Splade_PP_en_v1")
    for settings in ({"k": 3.0}, {"langage": "german"}):
        with pytest.raises(TypeError):
            SparseTextEmbedding(**settings)
    for settings in ({"batch_size": 0}, {"parallel": -1}):
        with pytest.raises(ValueError):
            list(SparseTextEmbedding().embed(["x"], **settings))
    assert next(SparseTextEmbedding().embed("retries")).values.flags.writeable
    with pytest.raises(forage.ArgumentError, match="german"):
        SparseTextEmbedding(language="klingon")

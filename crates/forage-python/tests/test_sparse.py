"""The encoder beside FastEmbed's own, which needs nothing but lists of stop words."""

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
    place = tmp_path_factory.mktemp("bm25")
    for file in (CRATE / "src/stop_words").iterdir():
        shutil.copy(file, place)
    return str(place)


def same(ours, theirs):
    """Whether ids are equal, and weights in the 32 bits that are kept of them."""
    assert ours.indices.dtype == theirs.indices.dtype
    weights = {int(index): np.float32(value) for index, value in zip(theirs.indices, theirs.values)}
    return weights == {int(index): value for index, value in zip(ours.indices, ours.values)}


@pytest.mark.parametrize("settings", [{}, {"language": "german"}, {"disable_stemmer": True}])
def test_numbers_are_fastembeds(lists, settings):
    theirs = FastEmbeds("Qdrant/bm25", specific_model_path=lists, **settings)
    ours = SparseTextEmbedding("Qdrant/bm25", specific_model_path=lists, **settings)
    texts = TEXTS + ["Die Wiederholungen schlugen alle fehl", ""]
    expected = list(theirs.embed(texts))
    for given in ({}, {"parallel": 0}, {"parallel": 2, "batch_size": 7}, {"batch_size": 1}):
        documents = list(ours.embed(texts, **given))
        assert len(documents) == len(texts) and all(map(same, documents, expected)), given
    assert all(map(same, ours.passage_embed(texts), expected))
    assert all(map(same, ours.query_embed(texts), theirs.query_embed(texts)))
    assert same(next(ours.embed(texts[0])), expected[0]) and same(next(ours.query_embed("retries")), next(theirs.query_embed("retries")))
    assert os.listdir(lists)


def test_a_vector_is_handed_on_as_fastembeds():
    [vector] = SparseTextEmbedding().embed(["retry retries"])
    assert vector.as_object()["indices"] is vector.indices
    again = SparseEmbedding.from_dict(vector.as_dict())
    assert (again.indices == vector.indices).all() and (again.values == vector.values).all()


def test_what_is_not_there_is_told():
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

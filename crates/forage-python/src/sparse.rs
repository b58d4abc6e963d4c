//! Sparse vectors as bytes, so that numpy can convert them to arrays as a whole.

use forage_bindings::{Bm25, guarded};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::raised;

type Vectors<'py> = Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>;

/// See [`Bm25`].
#[pyclass(frozen, name = "RawBm25", module = "forage._forage")]
pub(crate) struct RawBm25(Bm25);

#[pymethods]
impl RawBm25 {
    #[new]
    fn open(py: Python<'_>, language: &str, stems: bool) -> PyResult<Self> {
        Bm25::open(language, stems).map(Self).map_err(|error| raised(py, &error))
    }

    /// Encodes each document as the bytes of its ids (`u32`) and weights (`f32`), in native byte order.
    fn documents<'py>(&self, py: Python<'py>, texts: Vec<String>, threads: usize) -> PyResult<Vectors<'py>> {
        let vectors = py.detach(|| guarded(|| self.0.documents(&texts, threads)));
        let vectors = vectors.map_err(|error| raised(py, &error))?;
        Ok(vectors.iter().map(|vector| pair(py, vector.ids(), vector.weights())).collect())
    }

    /// Encodes a query in the same form as a document.
    fn query<'py>(
        &self,
        py: Python<'py>,
        text: &str,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let vector = self.0.query(text).map_err(|error| raised(py, &error))?;
        Ok(pair(py, vector.ids(), vector.weights()))
    }
}

fn pair<'py>(py: Python<'py>, ids: &[u32], weights: &[f32]) -> (Bound<'py, PyBytes>, Bound<'py, PyBytes>) {
    let ids: Vec<u8> = ids.iter().flat_map(|id| id.to_ne_bytes()).collect();
    let weights: Vec<u8> = weights.iter().flat_map(|weight| weight.to_ne_bytes()).collect();
    (PyBytes::new(py, &ids), PyBytes::new(py, &weights))
}

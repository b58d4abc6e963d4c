//! A view of a collection that is restricted to the repositories that the caller may see.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use forage_base::Stop;
use forage_lookup::{
    Collection, PointFilter, PointHit, PointPage, PointQuery, PointReader, PointScan, ShardLayout,
    StoreError, WeightedHit, repositories,
};

use crate::limits::REPOSITORIES_KEPT;

/// The payload field that holds the name of a repository.
const REPOSITORY: &str = "repo";

/// A store that behaves as if it contained only the visible repositories. The others must not be found,
/// counted or mentioned.
pub(crate) struct VisibleStore {
    inner: Arc<dyn PointReader>,
    is_visible: Box<dyn Fn(&str) -> bool + Send + Sync>,
    /// The visible repositories of the collection, and when we looked them up.
    known: Mutex<Option<(Instant, Vec<String>)>>,
}

impl VisibleStore {
    pub(crate) fn new(
        inner: Arc<dyn PointReader>,
        is_visible: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { inner, is_visible: Box::new(is_visible), known: Mutex::default() }
    }

    fn visible(&self, stop: &Stop) -> Result<Vec<String>, StoreError> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((looked, names)) = &*known()
            && looked.elapsed() < REPOSITORIES_KEPT
        {
            return Ok(names.clone());
        }
        let mut names = repositories(&*self.inner, stop)?;
        names.retain(|name| (self.is_visible)(name));
        *known() = Some((Instant::now(), names.clone()));
        Ok(names)
    }

    /// Restricts a filter to the visible repositories.
    fn narrowed(&self, filter: &PointFilter, stop: &Stop) -> Result<PointFilter, StoreError> {
        let visible = self.visible(stop)?;
        // Without a visible repository, no point may pass.
        if visible.is_empty() {
            return Ok(filter.among(Vec::new()));
        }
        let mut narrowed = filter.clone();
        narrowed.conditions.extend(PointFilter::any_of(REPOSITORY, visible).conditions);
        Ok(narrowed)
    }
}

impl PointReader for VisibleStore {
    fn place(&self) -> String {
        self.inner.place()
    }

    fn prepare(&self, stop: &Stop) -> Result<(), StoreError> {
        self.inner.prepare(stop)
    }

    fn collection(&self, stop: &Stop) -> Result<Option<Collection>, StoreError> {
        let found = self.inner.collection(stop)?;
        // The store's own scores would reveal how rare a word is in the whole collection. `Keyed` makes the
        // retriever compute the scores again, from the visible points.
        Ok(found.map(|collection| Collection { layout: ShardLayout::Keyed, points: 0, ..collection }))
    }

    fn query(&self, query: &PointQuery<'_>, stop: &Stop) -> Result<Vec<PointHit>, StoreError> {
        let filter = self.narrowed(query.filter, stop)?;
        self.inner.query(&PointQuery { filter: &filter, ..query.clone() }, stop)
    }

    fn query_all(
        &self,
        queries: &[PointQuery<'_>],
        with_vectors: bool,
        stop: &Stop,
    ) -> Result<Vec<Vec<WeightedHit>>, StoreError> {
        let filters = queries.iter().map(|query| self.narrowed(query.filter, stop));
        let filters: Vec<PointFilter> = filters.collect::<Result<_, _>>()?;
        let narrowed = queries.iter().zip(&filters);
        let narrowed: Vec<_> =
            narrowed.map(|(query, filter)| PointQuery { filter, ..query.clone() }).collect();
        self.inner.query_all(&narrowed, with_vectors, stop)
    }

    fn scan(&self, scan: &PointScan<'_>, stop: &Stop) -> Result<PointPage, StoreError> {
        let filter = self.narrowed(scan.filter, stop)?;
        self.inner.scan(&PointScan { filter: &filter, ..scan.clone() }, stop)
    }

    fn count(&self, filter: &PointFilter, stop: &Stop) -> Result<u64, StoreError> {
        self.inner.count(&self.narrowed(filter, stop)?, stop)
    }
}

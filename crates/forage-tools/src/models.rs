//! Models of a call. We discover them on first use, because a search without a model must not wait for a
//! provider.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use forage_llm::ChatModel;

/// Result of discovering models.
#[derive(Default)]
pub struct FoundModels {
    /// The models in order of preference.
    pub models: Vec<Arc<dyn ChatModel>>,
    /// Why other models, or all, are missing, as sentences. This must contain only names, never values.
    pub passed_over: String,
}

type Find = Box<dyn FnOnce() -> FoundModels + Send>;

/// Models in order of preference. They are discovered on first access, which may take as long as listing the
/// models of all providers. Clones share the result.
#[derive(Clone)]
pub struct Models(Arc<LazyLock<FoundModels, Find>>);

impl Models {
    /// Defers the discovery of the models to `find`.
    pub fn found_by(find: impl FnOnce() -> FoundModels + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(find))))
    }

    /// Appends `last` to these models. They are still discovered on first access.
    pub fn and_then(&self, last: Arc<dyn ChatModel>) -> Self {
        let first = self.clone();
        Self::found_by(move || FoundModels {
            models: first.iter().cloned().chain([last]).collect(),
            passed_over: first.passed_over().to_owned(),
        })
    }

    /// Wraps each of these models with `wrap`. They are still discovered on first access.
    pub fn each(&self, wrap: impl Fn(Arc<dyn ChatModel>) -> Arc<dyn ChatModel> + Send + 'static) -> Self {
        let models = self.clone();
        Self::found_by(move || FoundModels {
            models: models.iter().cloned().map(wrap).collect(),
            passed_over: models.passed_over().to_owned(),
        })
    }

    /// Explains in sentences why other models, or all, are missing.
    pub fn passed_over(&self) -> &str {
        &self.0.passed_over
    }
}

impl From<FoundModels> for Models {
    fn from(found: FoundModels) -> Self {
        Self::found_by(|| found)
    }
}

impl From<Vec<Arc<dyn ChatModel>>> for Models {
    fn from(models: Vec<Arc<dyn ChatModel>>) -> Self {
        FoundModels { models, passed_over: String::new() }.into()
    }
}

impl Default for Models {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl Deref for Models {
    type Target = [Arc<dyn ChatModel>];

    fn deref(&self) -> &Self::Target {
        &self.0.models
    }
}

impl fmt::Debug for Models {
    /// This must not trigger the discovery.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Models")
    }
}

//! The models of a call, found when they are needed: a search without a model must not wait for a provider.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use forage_llm::ChatModel;

/// The models that a look for them has found.
#[derive(Default)]
pub struct FoundModels {
    /// In order of preference.
    pub models: Vec<Arc<dyn ChatModel>>,
    /// The reasons for which others, or all, are not among them, in sentences. Names, never values.
    pub passed_over: String,
}

type Find = Box<dyn FnOnce() -> FoundModels + Send>;

/// Models in order of preference. The first look at them finds them, which may take as long as the providers' lists
/// may; clones share what was found.
#[derive(Clone)]
pub struct Models(Arc<LazyLock<FoundModels, Find>>);

impl Models {
    /// Models that `find` will find.
    pub fn found_by(find: impl FnOnce() -> FoundModels + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(find))))
    }

    /// These models, looked for as late as before, and `last` behind them.
    pub fn and_then(&self, last: Arc<dyn ChatModel>) -> Self {
        let first = self.clone();
        Self::found_by(move || FoundModels {
            models: first.iter().cloned().chain([last]).collect(),
            passed_over: first.passed_over().to_owned(),
        })
    }

    /// Each of them inside of another, looked for as late as before.
    pub fn each(&self, wrap: impl Fn(Arc<dyn ChatModel>) -> Arc<dyn ChatModel> + Send + 'static) -> Self {
        let models = self.clone();
        Self::found_by(move || FoundModels {
            models: models.iter().cloned().map(wrap).collect(),
            passed_over: models.passed_over().to_owned(),
        })
    }

    /// Returns why others, or all, are not among them, in sentences.
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
    /// Does not look for them.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Models")
    }
}

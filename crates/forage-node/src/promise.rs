//! Promises of what another thread works out.

use forage_bindings::{BindingError, guarded, run};
use napi::bindgen_prelude::{Either, Object, ToNapiValue};
use napi::{Env, JsDeferred};

use crate::NodeError;

/// What JavaScript is told of: an error is made an exception there, where its class is.
type Settled<T> = Either<NodeError, T>;

type Resolver<T> = Box<dyn FnOnce(Env) -> napi::Result<Settled<T>> + Send>;

/// Works in another thread and returns a promise of what comes of it.
pub(crate) fn promised<T: ToNapiValue + Send + 'static>(
    env: &Env,
    work: impl FnOnce() -> Result<T, BindingError> + Send + 'static,
) -> napi::Result<Object<'_>> {
    let (deferred, promise): (JsDeferred<Settled<T>, Resolver<T>>, Object<'_>) = env.create_deferred()?;
    let settle = |deferred: JsDeferred<Settled<T>, Resolver<T>>, answer| {
        deferred.resolve(Box::new(move |_| Ok(told(answer))));
    };
    let unstarted = deferred.clone();
    if let Err(error) = run(move || settle(deferred, guarded(work))) {
        settle(unstarted, Err(error));
    }
    Ok(promise)
}

/// An answer, or why there is none.
pub(crate) fn told<T>(answer: Result<T, BindingError>) -> Settled<T> {
    answer.map_or_else(
        |error| {
            Either::A(NodeError {
                code: error.code_name(),
                text: error.text(),
                message: error.message,
                hint: error.hint,
                transcript: error.transcript.map(|transcript| transcript.to_string()),
            })
        },
        Either::B,
    )
}

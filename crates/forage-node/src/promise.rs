//! Promises of what another thread works out.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use forage_bindings::{BindingError, LONE, RunCall, guarded};
use napi::bindgen_prelude::{Either, Object, ToNapiValue};
use napi::{Env, JsDeferred};

use crate::NodeError;

/// What JavaScript is told of: an error is made an exception there, where its class is.
pub(crate) type Settled<T> = Either<NodeError, T>;

/// What there is already, or a promise of it.
pub(crate) type Promised<'env, T> = Either<Settled<T>, Object<'env>>;

type Resolver<T> = Box<dyn FnOnce(Env) -> napi::Result<Settled<T>> + Send>;

type Deferred<T> = JsDeferred<Settled<T>, Resolver<T>>;

/// How far a call is.
enum PromisedCall<T: ToNapiValue> {
    /// It is worked on, and is looked at.
    Begun,
    /// It is worked on, and whoever waits wants to be told.
    Awaited(Deferred<T>),
    Ended(Result<T, BindingError>),
    Told,
}

/// Works in another thread and returns what comes of it, or a promise of that.
pub(crate) fn promised<T: ToNapiValue + Send + 'static>(
    env: &Env,
    run: RunCall,
    work: impl FnOnce() -> Result<T, BindingError> + Send + 'static,
) -> napi::Result<Promised<'_, T>> {
    /// Calls that are worked on.
    static WORKING: AtomicUsize = AtomicUsize::new(0);
    let progress = Arc::new(Mutex::new(PromisedCall::Begun));
    let of_work = Arc::clone(&progress);
    let is_alone = WORKING.fetch_add(1, Ordering::Relaxed) == 0;
    let began = Instant::now();
    let begun = run(Box::new(move || {
        let answer = guarded(work);
        WORKING.fetch_sub(1, Ordering::Relaxed);
        let mut progress = locked(&of_work);
        match std::mem::replace(&mut *progress, PromisedCall::Told) {
            PromisedCall::Awaited(deferred) => deferred.resolve(Box::new(move |_| Ok(told(answer)))),
            _ => *progress = PromisedCall::Ended(answer),
        }
    }));
    if let Err(error) = begun {
        WORKING.fetch_sub(1, Ordering::Relaxed);
        return Ok(Either::A(told(Err(error))));
    }
    while is_alone && began.elapsed() < LONE {
        // A lock that is looked at without end is hardly to be had by who works.
        (0..32).for_each(|_| std::hint::spin_loop());
        if matches!(*locked(&progress), PromisedCall::Ended(_)) {
            break;
        }
    }
    let mut progress = locked(&progress);
    if let PromisedCall::Ended(answer) = std::mem::replace(&mut *progress, PromisedCall::Told) {
        return Ok(Either::A(told(answer)));
    }
    let (deferred, promise) = env.create_deferred()?;
    *progress = PromisedCall::Awaited(deferred);
    Ok(Either::B(promise))
}

fn locked<T: ToNapiValue>(progress: &Mutex<PromisedCall<T>>) -> MutexGuard<'_, PromisedCall<T>> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
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

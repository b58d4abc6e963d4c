//! Promises for results that are computed on another thread.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use forage_bindings::{BindingError, RunCall, SPIN_TIME, guarded};
use napi::bindgen_prelude::{Either, Object, ToNapiValue};
use napi::{Env, JsDeferred};

use crate::NodeError;

/// A result for JavaScript, which defines the error classes and so must create the exceptions itself.
pub(crate) type Settled<T> = Either<NodeError, T>;

/// A result that is already available, or a promise for it.
pub(crate) type Promised<'env, T> = Either<Settled<T>, Object<'env>>;

type Resolver<T> = Box<dyn FnOnce(Env) -> napi::Result<Settled<T>> + Send>;

type Deferred<T> = JsDeferred<Settled<T>, Resolver<T>>;

/// State of a call.
enum PromisedCall<T: ToNapiValue> {
    /// In progress. The caller is still waiting and may not need a promise.
    Begun,
    /// In progress. The worker must resolve this promise.
    Awaited(Deferred<T>),
    Ended(Result<T, BindingError>),
    Delivered,
}

/// Runs `work` on another thread, and returns a promise for its result. If no other call is in progress, we
/// first spin for up to [`SPIN_TIME`], because a small call should not have to wait for the event loop. If
/// the result is available by then, this returns it without a promise.
pub(crate) fn promised<T: ToNapiValue + Send + 'static>(
    env: &Env,
    run: RunCall,
    work: impl FnOnce() -> Result<T, BindingError> + Send + 'static,
) -> napi::Result<Promised<'_, T>> {
    /// Number of calls in progress.
    static WORKING: AtomicUsize = AtomicUsize::new(0);
    let progress = Arc::new(Mutex::new(PromisedCall::Begun));
    let of_work = Arc::clone(&progress);
    let is_alone = WORKING.fetch_add(1, Ordering::Relaxed) == 0;
    let began = Instant::now();
    let begun = run(Box::new(move || {
        let answer = guarded(work);
        WORKING.fetch_sub(1, Ordering::Relaxed);
        let mut progress = locked(&of_work);
        match std::mem::replace(&mut *progress, PromisedCall::Delivered) {
            PromisedCall::Awaited(deferred) => deferred.resolve(Box::new(move |_| Ok(settled(answer)))),
            _ => *progress = PromisedCall::Ended(answer),
        }
    }));
    if let Err(error) = begun {
        WORKING.fetch_sub(1, Ordering::Relaxed);
        return Ok(Either::A(settled(Err(error))));
    }
    while is_alone && began.elapsed() < SPIN_TIME {
        // We pause between checks so that the worker can acquire the lock.
        (0..32).for_each(|_| std::hint::spin_loop());
        if matches!(*locked(&progress), PromisedCall::Ended(_)) {
            break;
        }
    }
    let mut progress = locked(&progress);
    if let PromisedCall::Ended(answer) = std::mem::replace(&mut *progress, PromisedCall::Delivered) {
        return Ok(Either::A(settled(answer)));
    }
    let (deferred, promise) = env.create_deferred()?;
    *progress = PromisedCall::Awaited(deferred);
    Ok(Either::B(promise))
}

fn locked<T: ToNapiValue>(progress: &Mutex<PromisedCall<T>>) -> MutexGuard<'_, PromisedCall<T>> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Converts a result for JavaScript.
pub(crate) fn settled<T>(answer: Result<T, BindingError>) -> Settled<T> {
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

//! The body of an answer. It determines how long the call counts as running.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{self, Poll};

use hyper::body::{Bytes, Frame, SizeHint};

use super::Body;
use super::clients::{ClientCall, ConnectionPermit};
use crate::caller::CallerTurn;

/// The body of an answer. The call counts as running while we wait for the next frame, but not while the
/// client has frames to read.
pub(super) struct AnswerBody {
    pub(super) body: Body,
    /// The permit of the connection, if this answers a call.
    pub(super) place: Option<ConnectionPermit>,
    pub(super) call: Option<ClientCall>,
    /// The token's turn, held until the answer has been sent completely.
    pub(super) _turn: Option<CallerTurn>,
}

impl hyper::body::Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut task::Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        match polled.is_pending() {
            true if self.call.is_none() => self.call = self.place.as_ref().map(ConnectionPermit::call),
            true => {}
            false => self.call = None,
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use hyper::body::Body as _;
    use tokio::sync::mpsc;

    use super::super::clients::Clients;
    use super::*;

    /// A body whose frames come from a channel.
    struct Stream(mpsc::Receiver<Bytes>);

    impl hyper::body::Body for Stream {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut task::Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            self.0.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
        }
    }

    /// A client that never reads its answers must not hold its permit forever.
    #[test]
    fn an_answer_that_is_not_read_is_no_call() {
        let clients = Clients::new(1, 1);
        let place = clients.admit(None).unwrap();
        let is_busy = || clients.admit(None).is_none();
        let (tell, frames) = mpsc::channel(1);
        let (call, held) = (Some(place.call()), Some(place.clone()));
        let mut answer = AnswerBody { body: Stream(frames).boxed(), place: held, call, _turn: None };
        let mut poll = || {
            Pin::new(&mut answer).poll_frame(&mut task::Context::from_waker(task::Waker::noop())).is_ready()
        };
        assert!(!poll() && is_busy());
        tell.try_send(Bytes::from_static(b"progress")).unwrap();
        // The frame was sent, and more are to come.
        assert!(poll() && !poll() && is_busy());
        tell.try_send(Bytes::from_static(b"answer")).unwrap();
        assert!(poll() && !is_busy());
    }
}

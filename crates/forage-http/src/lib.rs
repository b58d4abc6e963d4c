//! HTTP requests with a deadline.
//!
//! A [`Line`] holds one connection to a server and makes one call at a time. Every wait of a call (for name
//! resolution, the connection, TLS, and each read or write) ends with its [`Stop`](forage_base::Stop). We do
//! not follow redirects, so a key never reaches a host that the user did not name, and we do not use proxies.
//! Names are resolved whenever a connection is opened. Certificates are verified against the authorities that
//! browsers trust, or against those of the system if the settings say so.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use forage_base::Stop;
//! use forage_http::{Line, LineSettings};
//! use ureq::http::Request;
//!
//! let line = Line::new(LineSettings::default());
//! let call = line.begin(&Stop::after(Duration::from_secs(5)), None);
//! match line.run(Request::get("http://127.0.0.1:8080/").body(())?) {
//!     Ok(response) => assert_eq!(response.status(), 200),
//!     Err(error) => match call.halt() {
//!         Some(halt) => eprintln!("ended early: {halt:?}"),
//!         None => eprintln!("{error}"),
//!     },
//! }
//! # Ok::<(), ureq::Error>(())
//! ```

mod connect;
mod host;
mod limits;
mod line;
mod resolve;

pub use connect::{CallState, ConnectHalt, ConnectStage};
pub use host::{is_localhost, is_loopback, literal_address};
pub use line::{Line, LineSettings};
pub use ureq;

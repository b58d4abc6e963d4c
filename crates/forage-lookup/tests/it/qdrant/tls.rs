//! Tests certificates: those of the operating system, and those that `SSL_CERT_FILE` names.

use std::process::Command;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::*;

/// The environment variable with the address for the test below, set when the other test runs it.
const ADDRESS: &str = "FORAGE_TEST_TLS_ADDRESS";

/// Starts a server for `localhost`. Returns the certificate of its authority in PEM.
fn vouched() -> (Scripted, String) {
    let key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_pem = authority.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(authority, key);
    let key = KeyPair::generate().unwrap();
    let names = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = names.signed_by(&key, &issuer).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let tls = builder.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key).unwrap();
    let peer = Scripted::with_tls(tls);
    peer.on("POST /points/query", |_| no_hits());
    (peer, authority_pem)
}

fn url(peer: &Scripted) -> String {
    format!("https://{}", peer.address().replace("127.0.0.1", "localhost"))
}

#[test]
fn unknown_certificate_authority_is_refused() {
    #[expect(clippy::disallowed_methods, reason = "how the other test speaks to this one")]
    if let Ok(url) = std::env::var(ADDRESS) {
        assert_eq!(ask(&ServerStore::connect(settings(&url)).unwrap(), &Stop::never()), Ok(0));
        return;
    }
    let (peer, _) = vouched();
    let error = ask(&ServerStore::connect(settings(&url(&peer))).unwrap(), &Stop::never()).unwrap_err();
    assert_eq!(error.kind(), "unavailable");
    let text = error.to_string();
    assert!(text.contains("its certificate is not trusted") && text.contains("`SSL_CERT_FILE`"), "{text}");
    assert_eq!(peer.total(), 0);
}

#[test]
fn an_authority_that_ssl_cert_file_names_counts() {
    let (peer, authority) = vouched();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("authority.pem");
    #[expect(clippy::disallowed_methods, reason = "a test makes its own files")]
    std::fs::write(&file, authority).unwrap();
    // We need another process: all threads share the environment of this one.
    #[expect(clippy::disallowed_methods, reason = "the environment is given to another process")]
    let mut command = Command::new(std::env::current_exe().unwrap());
    let asking = command.args(["--exact", "qdrant::tls::unknown_certificate_authority_is_refused"]);
    let output = asking.env("SSL_CERT_FILE", &file).env(ADDRESS, url(&peer)).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(peer.total(), 1);
}

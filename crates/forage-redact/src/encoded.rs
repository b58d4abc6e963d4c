//! Detects private keys in base64.

use base64::Engine as _;
use base64::engine::general_purpose::GeneralPurpose;
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};

/// A decoder for base64 that may have been cut.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Number of characters that we decode. This is enough for the head of a key, and must be a multiple of four.
const HEAD: usize = 128;

/// Returns true if the text is a private key in base64: a PEM block, OpenSSH's format, or a structure that
/// begins like those of RFC 8017, RFC 5208 and RFC 5915.
pub(crate) fn is_private_key(text: &str) -> bool {
    let text = text.replace('-', "+").replace('_', "/");
    // A PEM block may have been cut out of a longer text, so we try each of its three alignments.
    (0..3).any(|shift| {
        let head = text.get(shift..(shift + HEAD).min(text.len())).unwrap_or_default();
        let head = head.trim_end_matches('=');
        let head = &head[..head.len() - usize::from(head.len() % 4 == 1)];
        LENIENT.decode(head).is_ok_and(|bytes| {
            let is_pem = bytes.windows(11).any(|window| window == b"PRIVATE KEY");
            is_pem || (shift == 0 && (bytes.starts_with(b"openssh-key-v1") || is_key_structure(&bytes)))
        })
    })
}

/// Returns true for a sequence that begins with a version and the next field of a private key: the modulus,
/// the algorithm, or the key of a curve. Note that a certificate begins with another sequence, and a public
/// key with the algorithm.
fn is_key_structure(bytes: &[u8]) -> bool {
    let rest = match bytes {
        [0x30, 0x82, _, _, rest @ ..] | [0x30, 0x81, _, rest @ ..] => rest,
        [0x30, length, rest @ ..] if *length < 0x80 => rest,
        _ => return false,
    };
    match rest {
        // RSA's modulus is long. An algorithm is a sequence that begins with its identifier.
        [0x02, 0x01, 0x00, 0x02, 0x81 | 0x82, ..] => true,
        [0x02, 0x01, 0x00 | 0x01, 0x30, _, 0x06, ..] => true,
        [0x02, 0x01, 0x01, 0x04, 0x20..=0x42, ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_distinguished_from_certificates() {
        let pem = base64::engine::general_purpose::STANDARD
            .encode("-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA");
        assert!(is_private_key(&pem));
        assert!(is_private_key("MIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9Oi8Z6mQ1xW5cVn0bLr8UeKfPdHs"));
        assert!(is_private_key("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"));
        assert!(is_private_key("MHcCAQEEIIrYSSNQFaA2Hwf1duRSxKtLYX5CB04fSeQ6tF1aY/PuoAoGCCqGSM49"));
        assert!(is_private_key("MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC"));
        // These are a certificate, a public key, and no key at all.
        assert!(!is_private_key("MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ"));
        assert!(!is_private_key("MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu1SU1LfVLPHCozMxH2Mo"));
        assert!(!is_private_key("MIIthisisnothing"));
    }
}

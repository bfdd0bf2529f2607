//! The statement of a new passkey about its authenticator. The site does not ask for it, so only two
//! formats come from honest browsers: `none`, and `packed` that the passkey has signed itself. All
//! others have certificates and structures of their own, whose parsers strangers must not reach.
//!
//! The object is read here with the smallest part of CBOR (RFC 8949) that these two need, and
//! whatever could be read in two ways is refused.

/// Whether an attestation object has one of the two formats, and nothing else.
pub(super) fn is_accepted(object: &[u8]) -> bool {
    read(Cbor(object)).is_some()
}

fn read(mut cbor: Cbor<'_>) -> Option<()> {
    let (mut format, mut statement, mut has_data) = (None, None, false);
    if cbor.head()? != (MAP, 3) {
        return None;
    }
    for _ in 0..3 {
        match cbor.text()? {
            "fmt" if format.is_none() => format = Some(cbor.text()?),
            "attStmt" if statement.is_none() => statement = Some(cbor.statement()?),
            "authData" if !has_data => {
                cbor.piece(BYTES)?;
                has_data = true;
            }
            _ => return None,
        }
    }
    let is_accepted =
        matches!((format?, statement?), ("none", Statement::Empty) | ("packed", Statement::Signature));
    (is_accepted && cbor.0.is_empty()).then_some(())
}

/// The statement of an attestation object.
#[derive(Debug, Clone, Copy)]
enum Statement {
    Empty,
    /// An algorithm and a signature, without a certificate.
    Signature,
}

/// The major types of CBOR.
const POSITIVE: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const MAP: u8 = 5;

/// The rest of a text in CBOR.
struct Cbor<'a>(&'a [u8]);

impl<'a> Cbor<'a> {
    /// The type of an item with its number: its value, its length, or how many members it has.
    /// `None` if the length is not given.
    fn head(&mut self) -> Option<(u8, u64)> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        let number = match first & 0b1_1111 {
            small @ 0..=23 => u64::from(small),
            width @ 24..=27 => {
                let bytes = self.take(1 << (width - 24))?;
                bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
            }
            _ => return None,
        };
        Some((first >> 5, number))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// Bytes or a text.
    fn piece(&mut self, kind: u8) -> Option<&'a [u8]> {
        let (found, length) = self.head()?;
        if found != kind {
            return None;
        }
        self.take(usize::try_from(length).ok()?)
    }

    fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.piece(TEXT)?).ok()
    }

    fn statement(&mut self) -> Option<Statement> {
        let (mut has_algorithm, mut has_signature) = (false, false);
        match self.head()? {
            (MAP, 0) => return Some(Statement::Empty),
            (MAP, 2) => {}
            _ => return None,
        }
        for _ in 0..2 {
            match self.text()? {
                "alg" if !has_algorithm => {
                    has_algorithm = matches!(self.head()?, (POSITIVE | NEGATIVE, _));
                }
                "sig" if !has_signature => {
                    self.piece(BYTES)?;
                    has_signature = true;
                }
                _ => return None,
            }
        }
        (has_algorithm && has_signature).then_some(Statement::Signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A map of pairs that are CBOR already.
    fn map(pairs: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let mut cbor = vec![0xA0 + u8::try_from(pairs.len()).unwrap()];
        for (name, value) in pairs {
            cbor.extend(text(name));
            cbor.extend(value);
        }
        cbor
    }

    fn text(text: &str) -> Vec<u8> {
        [&[0x60 + u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
    }

    fn bytes(length: u8) -> Vec<u8> {
        [&[0x58, length][..], &vec![7; length.into()]].concat()
    }

    fn object(format: &str, statement: Vec<u8>) -> Vec<u8> {
        map(&[("fmt", text(format)), ("attStmt", statement), ("authData", bytes(164))])
    }

    fn signed() -> Vec<(&'static str, Vec<u8>)> {
        // -7 is ES256.
        vec![("alg", vec![0x26]), ("sig", bytes(70))]
    }

    #[test]
    fn only_no_attestation_and_that_of_the_passkey_itself_are_accepted() {
        assert!(is_accepted(&object("none", map(&[]))));
        assert!(is_accepted(&object("packed", map(&signed()))));
        let data = ("authData", bytes(164));
        let (format, empty) = (("fmt", text("none")), ("attStmt", map(&[])));
        assert!(is_accepted(&map(&[data.clone(), empty.clone(), format.clone()])), "any order");
        let certified = [signed(), vec![("x5c", vec![0x81, 0x41, 0])]].concat();
        for (what, object) in [
            ("a statement", object("none", map(&signed()))),
            ("no statement", object("packed", map(&[]))),
            ("a certificate", object("packed", map(&certified))),
            ("no algorithm", object("packed", map(&[signed()[1].clone()]))),
            ("a signature twice", object("packed", map(&[signed()[1].clone(), signed()[1].clone()]))),
            (
                "an algorithm that is a text",
                object("packed", map(&[("alg", text("x")), signed()[1].clone()])),
            ),
            ("a TPM", object("tpm", map(&signed()))),
            ("an Android key", object("android-key", map(&signed()))),
            ("Apple", object("apple", map(&signed()))),
            ("U2F", object("fido-u2f", map(&signed()))),
            ("an empty format", object("", map(&[]))),
            ("a format twice", map(&[format.clone(), format.clone(), empty.clone()])),
            ("one more", map(&[format.clone(), empty.clone(), data.clone(), ("x", vec![0])])),
            ("no data", map(&[format.clone(), empty.clone()])),
            ("data that is a text", map(&[format.clone(), empty.clone(), ("authData", text("x"))])),
            ("an unknown length", [&[0xBF][..], &object("none", map(&[]))[1..], &[0xFF]].concat()),
            ("something after it", [object("none", map(&[])), vec![0]].concat()),
        ] {
            assert!(!is_accepted(&object), "{what}");
        }
        let whole = object("packed", map(&signed()));
        for length in 0..whole.len() {
            assert!(!is_accepted(&whole[..length]), "{length}");
        }
        let huge =
            [&[0xA3, 0x63][..], b"fmt", &[0x7B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]].concat();
        assert!(!is_accepted(&huge));
    }
}

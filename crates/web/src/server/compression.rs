//! Compression of bodies, with the encoding that the client likes best.
//!
//! A large body is compressed by a thread that may block, so that no other request waits
//! meanwhile, and only a few at a time.

use super::answer::{Answer, AnswerBody};
use super::answer_memory::AnswerMemory;
use crate::limits::{COMPRESSED_AT_ONCE_BYTES, LEAST_COMPRESSED_BYTES};
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use brotli::enc::BrotliEncoderParams;
use flate2::write::GzEncoder;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;
use tokio::sync::Semaphore;

/// The quality of brotli, from 0 to 11. On one core of the machine that the benchmarks ran
/// on, 60 KB of text take 0.7 ms and 1 MB takes 12 ms.
const BROTLI_QUALITY: i32 = 4;
/// The window of brotli as a power of two: 256 KiB. A larger one needs more memory and
/// saves little, because pages repeat the same markup within a few kilobytes.
const BROTLI_WINDOW: i32 = 18;
/// The level of gzip, from 0 to 9. It takes as long as brotli.
const GZIP_LEVEL: u32 = 4;

/// How a body is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// As it is.
    Identity,
    /// gzip.
    Gzip,
    /// Brotli.
    Brotli,
}

impl Encoding {
    /// The encoding of an answer to a request with these headers: the one with the highest
    /// weight in `Accept-Encoding`, and brotli before gzip before none of equals.
    pub fn of(request_headers: &HeaderMap) -> Self {
        let mut weights = Weights::default();
        for value in request_headers.get_all(header::ACCEPT_ENCODING) {
            value.to_str().unwrap_or_default().split(',').for_each(|entry| weights.add(entry));
        }
        let others = weights.others.unwrap_or(0);
        // Without an entry of its own, the plain body is the last choice, but always one.
        let plain = weights.identity.or(weights.others).unwrap_or(0);
        let candidates = [
            (plain, Self::Identity),
            (weights.gzip.unwrap_or(others), Self::Gzip),
            (weights.brotli.unwrap_or(others), Self::Brotli),
        ];
        let best = candidates.into_iter().filter(|(weight, _)| *weight > 0).max_by_key(|(weight, _)| *weight);
        best.map_or(Self::Identity, |(_, encoding)| encoding)
    }

    /// The name in `Content-Encoding`; `None` for the plain body.
    const fn name(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Gzip => Some("gzip"),
            Self::Brotli => Some("br"),
        }
    }

    fn encode(self, body: &[u8]) -> io::Result<Vec<u8>> {
        let encoded = match self {
            Self::Identity => body.to_vec(),
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::new(GZIP_LEVEL));
                encoder.write_all(body)?;
                encoder.finish()?
            }
            Self::Brotli => {
                let mut encoded = Vec::new();
                let params = BrotliEncoderParams {
                    quality: BROTLI_QUALITY,
                    lgwin: BROTLI_WINDOW,
                    size_hint: body.len(),
                    ..BrotliEncoderParams::default()
                };
                brotli::BrotliCompress(&mut &*body, &mut encoded, &params)?;
                encoded
            }
        };
        Ok(encoded)
    }
}

/// The weights in `Accept-Encoding`, in thousandths; `None` without an entry.
#[derive(Default)]
struct Weights {
    identity: Option<u32>,
    gzip: Option<u32>,
    brotli: Option<u32>,
    /// Of all that have no entry: `*`.
    others: Option<u32>,
}

impl Weights {
    /// Adds an entry such as `gzip;q=0.5`. One that cannot be read counts as absent.
    fn add(&mut self, entry: &str) {
        let mut parts = entry.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let slot = match &*name {
            "identity" => &mut self.identity,
            "gzip" | "x-gzip" => &mut self.gzip,
            "br" => &mut self.brotli,
            "*" => &mut self.others,
            _ => return,
        };
        let weight = match parts.next() {
            None => Some(1_000),
            Some(parameter) => {
                parameter.strip_prefix("q=").or(parameter.strip_prefix("Q=")).and_then(thousandths)
            }
        };
        if let Some(weight) = weight {
            *slot = Some(weight);
        }
    }
}

/// A weight from 0 to 1 in thousandths.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn thousandths(text: &str) -> Option<u32> {
    let weight: f64 = text.trim().parse().ok()?;
    // The range keeps the cast exact.
    (0.0..=1.0).contains(&weight).then(|| (weight * 1_000.0).round() as u32)
}

/// Compresses bodies.
pub struct Compressor {
    places: Semaphore,
    runs: AtomicU64,
    memory: Arc<AnswerMemory>,
}

impl Compressor {
    /// Compresses as many large bodies at the same time as half of the cores, but at least
    /// one. The bodies that wait count in `memory`.
    pub fn new(memory: Arc<AnswerMemory>) -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        Self { places: Semaphore::new((cores / 2).max(1)), runs: AtomicU64::new(0), memory }
    }

    /// How many bodies it has compressed.
    pub fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    /// The answer in this encoding. Streams are returned as they are. Its version becomes a weak one, because the same
    /// text has other bytes in other encodings (RFC 9110, 8.8.1).
    pub async fn compress(&self, mut answer: Answer, encoding: Encoding) -> Answer {
        let headers = &mut answer.head.headers;
        if answer.head.status == StatusCode::NOT_MODIFIED && encoding != Encoding::Identity {
            weaken(headers);
        }
        if let AnswerBody::Whole(body) = &mut answer.body
            && is_compressible(headers, body.len())
        {
            vary_by_encoding(headers);
            if let Some(name) = encoding.name()
                && let Some(encoded) = self.encode(body.clone(), encoding).await
            {
                *body = encoded;
                headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
                headers.remove(header::CONTENT_LENGTH);
                weaken(headers);
            }
        }
        answer
    }

    /// The encoded body; `None` if it cannot be encoded.
    async fn encode(&self, body: Bytes, encoding: Encoding) -> Option<Bytes> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let encoded = if body.len() <= COMPRESSED_AT_ONCE_BYTES {
            encoding.encode(&body)
        } else {
            let body = self.memory.count(body);
            let _place = self.places.acquire().await.ok()?;
            tokio::task::spawn_blocking(move || encoding.encode(&body))
                .await
                .unwrap_or_else(|error| Err(error.into()))
        };
        // Without its spare capacity, because it may be cached.
        let encoded = encoded.map(|encoded| Bytes::from(encoded.into_boxed_slice()));
        encoded.inspect_err(|error| tracing::error!(%error, "cannot compress a response")).ok()
    }
}

/// Whether a body may become smaller.
fn is_compressible(headers: &HeaderMap, length: usize) -> bool {
    let content_type =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_image = content_type.starts_with("image/") && !content_type.starts_with("image/svg+xml");
    let is_compressed = is_image || content_type == ZIP;
    length >= LEAST_COMPRESSED_BYTES && !is_compressed && !headers.contains_key(header::CONTENT_ENCODING)
}

/// Makes the entity tag a weak one, if there is a strong one.
fn weaken(headers: &mut HeaderMap) {
    let tag = headers.get(header::ETAG).and_then(|tag| tag.to_str().ok()).filter(|tag| tag.starts_with('"'));
    if let Some(weak) = tag.and_then(|tag| HeaderValue::from_str(&format!("W/{tag}")).ok()) {
        headers.insert(header::ETAG, weak);
    }
}

/// Says that the response depends on `Accept-Encoding`, unless it says so already.
fn vary_by_encoding(headers: &mut HeaderMap) {
    let name = header::ACCEPT_ENCODING.as_str();
    let is_said = headers.get_all(header::VARY).iter().any(|value| {
        value
            .to_str()
            .is_ok_and(|value| value.split(',').any(|entry| entry.trim().eq_ignore_ascii_case(name)))
    });
    if !is_said {
        headers.append(header::VARY, HeaderValue::from_static("accept-encoding"));
    }
}

/// The content type of the file.
pub const ZIP: &str = "application/zip";

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use axum::response::IntoResponse;
    use std::io::Read;

    fn chosen(lines: &[&str]) -> Encoding {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::ACCEPT_ENCODING, line.parse().unwrap());
        }
        Encoding::of(&headers)
    }

    #[test]
    fn the_best_accepted_encoding_is_chosen() {
        for (accepted, expected) in [
            ("", Encoding::Identity),
            ("identity", Encoding::Identity),
            ("zstd, compress", Encoding::Identity),
            ("gzip", Encoding::Gzip),
            ("br", Encoding::Brotli),
            ("gzip, deflate, br, zstd", Encoding::Brotli),
            (" GZIP ,\tBR;q=0.999", Encoding::Gzip),
            ("gzip;q=0.5, br", Encoding::Brotli),
            ("gzip, br;q=0", Encoding::Gzip),
            ("gzip;q=0", Encoding::Identity),
            ("br; q=0.5, gzip; q=0.6", Encoding::Gzip),
            ("gzip;q=0.5, identity", Encoding::Identity),
            ("*", Encoding::Brotli),
            ("*;q=0.5, br;q=0", Encoding::Gzip),
            ("*;q=0", Encoding::Identity),
            ("identity;q=0", Encoding::Identity),
            ("gzip;q=2", Encoding::Identity),
            ("gzip;q=-1, gzip;q=x", Encoding::Identity),
            ("gzip;level=9", Encoding::Identity),
        ] {
            assert_eq!(chosen(&[accepted]), expected, "{accepted}");
        }
        assert_eq!(chosen(&[]), Encoding::Identity);
        assert_eq!(chosen(&["gzip", "br"]), Encoding::Brotli);
    }

    /// The answer with a body of this type and length, and its body.
    async fn answer_of(
        content_type: &'static str,
        length: usize,
        encoding: Encoding,
    ) -> (Compressor, HeaderMap, Bytes) {
        let compressor = Compressor::new(AnswerMemory::new(usize::MAX));
        let head = [(header::CONTENT_TYPE, content_type), (header::ETAG, "\"a\"")];
        let response = (head, "abc ".repeat(length / 4)).into_response();
        let answer = compressor.compress(Answer::from_response(response).await, encoding).await;
        let AnswerBody::Whole(body) = answer.body else { panic!("a stream") };
        (compressor, answer.head.headers, body)
    }

    #[tokio::test]
    async fn a_body_is_the_same_after_decompression_whichever_thread_compressed_it() {
        for length in [LEAST_COMPRESSED_BYTES, COMPRESSED_AT_ONCE_BYTES, COMPRESSED_AT_ONCE_BYTES + 4] {
            for encoding in [Encoding::Gzip, Encoding::Brotli, Encoding::Identity] {
                let (compressor, headers, body) = answer_of("text/html", length, encoding).await;
                let mut text = String::new();
                match encoding {
                    Encoding::Identity => text.push_str(std::str::from_utf8(&body).unwrap()),
                    Encoding::Gzip => {
                        flate2::read::GzDecoder::new(&*body).read_to_string(&mut text).unwrap();
                    }
                    Encoding::Brotli => {
                        brotli::Decompressor::new(&*body, 4_096).read_to_string(&mut text).unwrap();
                    }
                }
                assert_eq!(text, "abc ".repeat(length / 4));
                let name = headers.get(header::CONTENT_ENCODING);
                assert_eq!(name.map(|name| name.to_str().unwrap()), encoding.name());
                assert_eq!(headers[header::VARY], "accept-encoding");
                let tag = if encoding == Encoding::Identity { "\"a\"" } else { "W/\"a\"" };
                assert_eq!(headers[header::ETAG], tag);
                assert_eq!(compressor.runs(), u64::from(encoding != Encoding::Identity));
                // Nothing is counted any more when the body has been made.
                assert_eq!(compressor.memory.bytes(), 0);
            }
        }
    }

    #[tokio::test]
    async fn small_bodies_images_and_archives_are_sent_as_they_are() {
        for (content_type, length, is_compressed) in [
            ("text/html", LEAST_COMPRESSED_BYTES - 4, false),
            ("image/png", 10_000, false),
            ("application/zip", 10_000, false),
            ("image/svg+xml", 10_000, true),
            ("application/json", 10_000, true),
        ] {
            let (compressor, headers, _) = answer_of(content_type, length, Encoding::Gzip).await;
            assert_eq!(compressor.runs(), u64::from(is_compressed), "{content_type}");
            assert_eq!(headers.contains_key(header::VARY), is_compressed, "{content_type}");
        }
    }

    #[tokio::test]
    async fn a_stream_is_left_alone() {
        let stream = futures_util::stream::pending::<Result<Bytes, io::Error>>();
        let compressor = Compressor::new(AnswerMemory::new(usize::MAX));
        let answer = Answer::from_response(Body::from_stream(stream).into_response()).await;
        let answer = compressor.compress(answer, Encoding::Gzip).await;
        assert!(matches!(answer.body, AnswerBody::Stream(_)));
        assert!(!answer.head.headers.contains_key(header::CONTENT_ENCODING));
    }
}

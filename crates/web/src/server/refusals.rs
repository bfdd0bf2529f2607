//! Bodies for what the HTTP library refuses by itself, before any handler sees the request:
//! heads that are too large or that it cannot read. It answers with a bare status.

use super::request_id::{REQUEST_ID, RequestId};
use super::traffic::Answered;
use super::{cors, headers};
use crate::App;
use crate::error::RequestError;
use crate::limits::ADDRESS_BYTES;
use crate::route::Route;
use axum::body::to_bytes;
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::Response;
use futures_util::FutureExt;
use std::time::Duration;

/// Bytes of the largest bare answer.
const BARE_ANSWER_BYTES: usize = 200;
/// Bytes at the beginning of a head that are remembered: enough to tell the calls of
/// programs from pages.
const BEGINNING_BYTES: usize = 128;

/// Makes the answer to a request that failed.
pub type Respond = fn(&App, &Method, &Uri, &RequestError) -> Response;

/// The known part of a head while it arrives.
#[derive(Debug, Default)]
pub struct HeadBeginning {
    bytes: Vec<u8>,
    /// Bytes of the first line that have arrived.
    line_bytes: usize,
    has_whole_line: bool,
}

impl HeadBeginning {
    /// Notes the next bytes of the head.
    pub fn note(&mut self, bytes: &[u8]) {
        if self.has_whole_line {
            return;
        }
        // Clients may send empty lines before a head.
        let is_first = self.bytes.is_empty();
        let skipped = bytes.iter().take_while(|byte| is_first && matches!(byte, b'\r' | b'\n')).count();
        let bytes = bytes.get(skipped..).unwrap_or_default();
        let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        self.has_whole_line = line.len() < bytes.len();
        self.line_bytes += line.len();
        let room = BEGINNING_BYTES.saturating_sub(self.bytes.len());
        self.bytes.extend(line.iter().take(room));
    }

    /// The path of the request, as far as it is known; `/` if it is not.
    fn path(&self) -> Uri {
        let target = self.bytes.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
        Uri::try_from(path).ok().filter(|uri| uri.path().starts_with('/')).unwrap_or(Uri::from_static("/"))
    }
}

/// Whether these bytes are a bare answer of the library, and which.
pub fn bare_answer(bytes: &[u8]) -> Option<BareAnswer<'_>> {
    if bytes.len() > BARE_ANSWER_BYTES {
        return None;
    }
    let lines = std::str::from_utf8(bytes).ok()?.strip_suffix("\r\n\r\n")?;
    let status = lines.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let failure = match status {
        StatusCode::BAD_REQUEST => RequestError::UnreadableHead,
        StatusCode::URI_TOO_LONG => RequestError::AddressTooLong,
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => RequestError::HeadTooLarge,
        _ => return None,
    };
    let is_bare = lines.lines().any(|line| line.eq_ignore_ascii_case("content-length: 0"));
    let date =
        lines.lines().find(|line| line.get(..5).is_some_and(|name| name.eq_ignore_ascii_case("date:")));
    is_bare.then_some(BareAnswer { failure, date })
}

/// An answer that consists of a status.
#[derive(Debug)]
pub struct BareAnswer<'a> {
    failure: RequestError,
    date: Option<&'a str>,
}

impl BareAnswer<'_> {
    /// The answer as it is sent: with a body in the form that the address has, and with the
    /// headers of every response.
    pub fn with_body(self, app: &App, respond: Respond, head: &HeadBeginning) -> Vec<u8> {
        let failure = match self.failure {
            // The first line consists of little besides the address.
            RequestError::HeadTooLarge if head.line_bytes > ADDRESS_BYTES => RequestError::AddressTooLong,
            failure => failure,
        };
        let address = head.path();
        let id = RequestId::new();
        let made = id.clone().sync_scope(|| respond(app, &Method::GET, &address, &failure));
        let (mut parts, body) = made.into_parts();
        // Its method is not known.
        let (route, method, took) = (Route::default(), Method::TRACE, Duration::ZERO);
        app.traffic.note(&Answered { route, method, status: parts.status, took });
        parts.headers.insert(REQUEST_ID, id.header());
        // The body is in memory, so it is ready.
        let body = to_bytes(body, usize::MAX).now_or_never().and_then(Result::ok).unwrap_or_default();
        cors::open(app.routes.find(&Method::GET, address.path()).cors, &mut parts.headers);
        headers::protect(&app.settings, headers::has_secret(&address), &mut parts.headers);
        parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        parts.headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        let mut bytes = format!("HTTP/1.1 {}\r\n", parts.status).into_bytes();
        for (name, value) in &parts.headers {
            bytes.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
        }
        if let Some(date) = self.date {
            bytes.extend([date.as_bytes(), b"\r\n"].concat());
        }
        bytes.extend([b"\r\n", &*body].concat());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(chunks: &[&str]) -> HeadBeginning {
        let mut head = HeadBeginning::default();
        chunks.iter().for_each(|chunk| head.note(chunk.as_bytes()));
        head
    }

    #[test]
    fn the_path_of_a_head_is_found_as_soon_as_it_has_arrived() {
        let long = format!("GET /api/getnews?{}", "x".repeat(1_000));
        for (chunks, path, has_whole_line) in [
            (&["GET /api/x?y HTTP/1.1\r\nHost"][..], "/api/x", true),
            (&["\r\n\r\nGE", "T /ap", "i/x", " HTTP/1.1\r", "\n"], "/api/x", true),
            (&["GET /api/getnews?x"], "/api/getnews", false),
            (&[&*long, &*long, "\n"], "/api/getnews", true),
            (&["POST /vote HTTP/1.1\nGET /other"], "/vote", true),
            (&["GET"], "/", false),
            (&["nonsense\r\n"], "/", true),
            (&["GET http://a.example/x HTTP/1.1\n"], "/x", true),
            (&["GET /\u{fc} HTTP/1.1\n"], "/\u{fc}", true),
            (&["GET * HTTP/1.1\n"], "/", true),
        ] {
            let head = head(chunks);
            assert_eq!(head.has_whole_line, has_whole_line, "{chunks:?}");
            assert!(head.bytes.len() <= BEGINNING_BYTES && head.line_bytes >= head.bytes.len());
            assert_eq!(head.path().path(), path, "{chunks:?}");
        }
    }

    #[test]
    fn only_bare_answers_are_replaced() {
        let rest = "connection: close\r\ncontent-length: 0\r\ndate: Sun, 22 Nov 2026 08:00:00 GMT\r\n\r\n";
        for (first, is_bare) in [
            ("HTTP/1.1 400 Bad Request\r\n", true),
            ("HTTP/1.1 414 URI Too Long\r\n", true),
            ("HTTP/1.1 431 Request Header Fields Too Large\r\n", true),
            ("HTTP/1.1 304 Not Modified\r\n", false),
            ("<p>HTTP/1.1 400 Bad Request\r\n", false),
        ] {
            assert_eq!(bare_answer(format!("{first}{rest}").as_bytes()).is_some(), is_bare, "{first}");
        }
        for bytes in
            ["", "HTTP/1.1 400 Bad Request\r\ncontent-length: 5\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n\r\nx"]
        {
            assert!(bare_answer(bytes.as_bytes()).is_none(), "{bytes}");
        }
    }
}

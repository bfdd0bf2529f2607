//! An answer that is ready to be sent: its body is in memory, unless it is a stream.

use super::answer_memory::AnswerMemory;
use super::connections::AnswerGuard;
use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::http::response::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use std::sync::Arc;
use std::time::Instant;

/// A response whose body may be shared.
pub struct Answer {
    /// The status and the headers.
    pub head: Parts,
    /// The body.
    pub body: AnswerBody,
    /// The bytes of the body before it was compressed; 0 for a stream, and if the client has it.
    pub made_bytes: usize,
}

/// The body of an answer.
pub enum AnswerBody {
    /// All of it.
    Whole(Bytes),
    /// A stream of events, which has no end that is known.
    Stream(Body),
}

impl Answer {
    /// The answer that consists of a handler's response. It does not copy the body.
    pub async fn from_response(response: Response) -> Self {
        let (head, body) = response.into_parts();
        // Only streams have no exact size.
        if body.size_hint().exact().is_none() {
            return Self { head, body: AnswerBody::Stream(body), made_bytes: 0 };
        }
        if let Ok(body) = to_bytes(body, usize::MAX).await {
            let made_bytes = body.len();
            Self { head, body: AnswerBody::Whole(body), made_bytes }
        } else {
            // Cannot happen: the body is in memory.
            tracing::error!("cannot read the body of a response");
            let (head, _) = StatusCode::INTERNAL_SERVER_ERROR.into_response().into_parts();
            Self { head, body: AnswerBody::Whole(Bytes::new()), made_bytes: 0 }
        }
    }

    /// The response to be sent. Its body counts in `memory` until then.
    pub fn send(self, memory: &Arc<AnswerMemory>, guard: AnswerGuard) -> Response {
        let Self { mut head, body, .. } = self;
        let body = match body {
            AnswerBody::Whole(body) => {
                // For HEAD too, where the body itself is not sent.
                if !body.is_empty() {
                    head.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
                }
                Body::from(memory.send(body, guard, Instant::now()))
            }
            AnswerBody::Stream(body) => Body::from_stream(body.into_data_stream().map(move |chunk| {
                // The connection is busy until the stream ends.
                let _guard = &guard;
                chunk
            })),
        };
        Response::from_parts(head, body)
    }
}

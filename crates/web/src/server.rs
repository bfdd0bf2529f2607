//! Bytes in and out, and what a client may cost.

pub mod answer;
pub mod answer_memory;
pub mod client_stream;
pub mod compression;
pub mod conditions;
pub mod connections;
pub mod cors;
pub mod figures;
pub mod headers;
pub mod health;
pub mod host;
pub mod listening;
pub mod outgoing;
pub mod provider;
pub mod refusals;
pub mod request_bytes;
pub mod request_id;
pub mod request_log;
pub mod traffic;

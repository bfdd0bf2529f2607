//! The engine that is the store of a running server, behind the server's Unix socket.
//!
//! Only one process can have an embedded store open. Commands of other processes reach it here: the
//! server that has it open answers their rounds ([`serve`]), and a command uses it like any
//! other store ([`Store::of_server`](crate::Store::of_server)). The server commits the batches
//! itself, so that its read sets end as with its own writes.
//!
//! A connection carries one request at a time; [`wire`] says how it is written. A process that may
//! open the socket may do anything with the store, so only the server's own user may open it: see
//! [`socket`].

mod client;
mod server;
mod socket;
mod wire;

#[cfg(test)]
mod tests;

pub(super) use client::Remote;
pub use server::{AnswerQuestion, Served, serve};
pub use socket::{ControlSocket, SocketError};

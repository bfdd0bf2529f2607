//! Tidings: one self-hosted server for a community.
//!
//! Dependencies point one way: [`web`] and [`cli`] use [`domain`], which uses
//! [`keyspace`], which alone knows the engines.

pub mod cli;
pub mod config;
pub mod domain;
pub mod keyspace;
pub mod mail;
pub mod web;

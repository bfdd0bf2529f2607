//! How the table of addresses is written.

use crate::App;
use crate::route::{Facts, Form, Read, RouteFacts, Target};
use axum::handler::Handler;
use axum::routing::{MethodRouter, get, post};

/// A method of an address: what holds for it, and its handler.
pub(in crate::router) struct Declaration {
    pub(in crate::router) pattern: String,
    pub(in crate::router) is_post: bool,
    pub(in crate::router) facts: Facts,
    pub(in crate::router) handler: MethodRouter<App>,
}

/// Methods of addresses.
pub(super) struct Declarations(pub(super) Vec<Declaration>);

impl Declarations {
    /// Adds a handler that reads.
    pub(super) fn get<H: Handler<T, App>, T: 'static>(
        self,
        patterns: &[&str],
        facts: RouteFacts<Read>,
        handler: H,
    ) -> Self {
        self.with(patterns, false, *facts, get(handler))
    }

    /// Adds a handler of an address `/@<name>`. Without an `@` the address does not exist, as `other_method` says.
    pub(super) fn of_name<T: 'static, U: 'static>(
        self,
        patterns: &[&str],
        facts: RouteFacts<Read>,
        handler: impl Handler<T, App>,
        other_method: impl Handler<U, App>,
    ) -> Self {
        self.with(patterns, false, *facts, get(handler).fallback(other_method))
    }

    /// Adds a feed of the list at an address, in both formats.
    pub(super) fn feed<H: Handler<T, App>, T: 'static>(
        self,
        lists: &[&str],
        facts: RouteFacts<Read>,
        handler: H,
    ) -> Self {
        lists.iter().fold(self, |declared, list| {
            let patterns = ["json", "atom"].map(|format| format!("{list}/{format}"));
            declared.get(&patterns.each_ref().map(String::as_str), facts, handler.clone())
        })
    }

    /// Adds a handler that acts.
    pub(super) fn post<H: Handler<T, App>, T: 'static>(
        self,
        patterns: &[&str],
        facts: RouteFacts<Target>,
        handler: H,
    ) -> Self {
        self.with(patterns, true, *facts, post(handler))
    }

    /// Adds the page of a form, and what its target does.
    pub(super) fn form<T: 'static, U: 'static>(
        self,
        patterns: &[&str],
        facts: RouteFacts<Form>,
        page: impl Handler<T, App>,
        target: impl Handler<U, App>,
    ) -> Self {
        self.with(patterns, false, *facts, get(page)).with(patterns, true, *facts, post(target))
    }

    /// Adds a handler of either kind at some addresses.
    pub(super) fn with(
        mut self,
        patterns: &[&str],
        is_post: bool,
        facts: Facts,
        handler: MethodRouter<App>,
    ) -> Self {
        for pattern in patterns {
            let (pattern, handler) = ((*pattern).to_owned(), handler.clone());
            self.0.push(Declaration { pattern, is_post, facts, handler });
        }
        self
    }
}

/// A table of routes: what they are, their addresses, their facts, and their handlers. A form has two.
macro_rules! routes {
    ($($kind:ident $($pattern:literal)|+: $facts:expr => $($handler:expr),+;)*) => {
        $crate::router::addresses::declarations::Declarations(Vec::new())$(.$kind(&[$($pattern),+], $facts, $($handler),+))*
    };
}
pub(super) use routes;

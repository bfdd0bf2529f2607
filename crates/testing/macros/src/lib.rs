//! Attributes of tests that are given a running site, which each starts on a store of its own:
//!
//! ```text
//! #[in_memory(&[("karma.visit_seconds", "0")])]
//! async fn a_visit_earns_nothing(server: Server) { ... }
//! ```
//!
//! In the parentheses are the settings of the site; without them it has those of all tests. A test that needs
//! threads says so with `#[tokio::test(flavor = "multi_thread")]` below the attribute.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Runs a test on the embedded engine and on Redis, one after the other. Before the settings stands a word that says what
/// may differ between engines: `#[each_engine("races")]`. The engines themselves have the conformance suite of the keyspace.
#[proc_macro_attribute]
pub fn each_engine(arguments: TokenStream, test: TokenStream) -> TokenStream {
    let mut arguments = arguments.into_iter();
    let reason = arguments.next().map(|reason| reason.to_string());
    if !reason.is_some_and(|reason| reason.starts_with('"')) {
        return parsed("compile_error!(\"say in a word what may differ between engines\");");
    }
    // The comma.
    arguments.next();
    started("::tidings_testing::server::each_engine", arguments.collect(), test)
}

/// Runs a test on the embedded engine, in memory.
#[proc_macro_attribute]
pub fn in_memory(settings: TokenStream, test: TokenStream) -> TokenStream {
    started("::tidings_testing::server::in_memory", settings, test)
}

/// The test function that gives the body of `test`, as a closure, to the function at a path.
fn started(path: &str, settings: TokenStream, test: TokenStream) -> TokenStream {
    let mut head: Vec<TokenTree> = test.into_iter().collect();
    let (Some(body), Some(TokenTree::Group(parameters))) = (head.pop(), head.pop()) else {
        return parsed("compile_error!(\"a test is an async function that takes the server\");");
    };
    let settings = if settings.is_empty() { parsed("&[]") } else { settings };
    let closure = [parsed("async |"), parameters.stream(), parsed("|"), body.into()];
    let arguments = [settings, parsed(",")].into_iter().chain(closure);
    let call = [parsed(path), grouped(Delimiter::Parenthesis, arguments), parsed(".await;")];
    let is_test = head.iter().any(|token| token.to_string().starts_with("[tokio"));
    let marker = if is_test { TokenStream::new() } else { parsed("#[::tokio::test]") };
    let rest = [head.into_iter().collect(), parsed("()"), grouped(Delimiter::Brace, call)];
    std::iter::once(marker).chain(rest).collect()
}

/// Code without a place of its own: an error in it is shown at the attribute.
fn parsed(code: &str) -> TokenStream {
    code.parse().unwrap_or_default()
}

fn grouped(delimiter: Delimiter, parts: impl IntoIterator<Item = TokenStream>) -> TokenStream {
    TokenTree::from(Group::new(delimiter, parts.into_iter().collect())).into()
}

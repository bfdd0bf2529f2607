//! Searches that no page of ours would make.

use super::{ON, finds};
use crate::client::encoded;
use crate::server::{Server, in_memory};

/// The addresses of search with their parameters; the first one is the text.
const ADDRESSES: [(&str, &[&str]); 6] = [
    ("/search", &["q", "kind", "sort", "page"]),
    ("/api/search", &["q", "kind", "sort", "page"]),
    ("/search.atom", &["q", "kind", "sort", "page"]),
    ("/search.json", &["q", "kind", "sort", "page"]),
    ("/api/search/suggest", &["q"]),
    ("/api/search/similar", &["title"]),
];
/// The most bytes of an answer to such a search.
const BYTES: usize = 64 * 1024;

/// Values that are wrong for most parameters.
fn odd_values() -> Vec<String> {
    let values = "| |-|\"|*|a*|OR|a OR|-a|\u{0}|\u{202e}\u{85}|🦀|ß|0|-1|101|1.5|18446744073709551616|\
        votes:>abc|votes:5..|by:|site:..|topic:|after:2026-13|age:<9999999999y|is:nothing|https://|\
        https://[::1|(((|a AND NOT b|%00|' OR 1=1 --|title:\"|all|ALL";
    let mut values: Vec<String> = values.split('|').map(str::to_owned).collect();
    values.extend([
        "a".repeat(200),
        "a".repeat(201),
        "a ".repeat(16),
        "a ".repeat(17),
        "é".repeat(200),
        "\"".repeat(150),
    ]);
    values
}

#[in_memory(&ON)]
async fn odd_parameters_make_no_error_of_ours(server: Server) {
    let alice = server.register("alice").await;
    alice.submit_text("A story", "text").await;
    finds(&alice, "q=story", &["A story"]).await;
    // The first feed stores how the ids of all entries begin.
    alice.get("/rss").await;
    let before = server.dump().await;
    let visitor = server.visitor();
    for (path, parameters) in ADDRESSES {
        for parameter in parameters {
            for value in odd_values() {
                let mut fields = vec![(*parameter, value.as_str())];
                if *parameter != parameters[0] {
                    fields.push((parameters[0], "story"));
                }
                let address = format!("{path}?{}", encoded(&fields));
                let answer = visitor.get(&address).await;
                assert!([200, 400].contains(&answer.status.as_u16()), "{address}: {}", answer.status);
                assert!(answer.body.len() <= BYTES, "{address}: {}", answer.body.len());
            }
            let twice = visitor.get(&format!("{path}?{parameter}=a&{parameter}=b")).await;
            assert!([200, 400].contains(&twice.status.as_u16()), "{path}, {parameter}: {}", twice.status);
        }
    }
    assert_eq!(server.dump().await, before);
}

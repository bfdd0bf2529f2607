//! The export of a whole site, and what becomes of it on another one.

use std::collections::HashMap;

use serde_json::Value;

use crate::client::ok;
use crate::commands::Place;
use crate::export::unpacked;
use crate::pages::source;
use crate::program::Program;

/// The lines of an export, by file.
fn exported(place: &Place, name: &str) -> (String, HashMap<String, Vec<Value>>) {
    let file = place.folder.path().join(name);
    let said = place.run(&["export", "site", file.to_str().unwrap()]).good();
    assert!(said.starts_with("exported "), "{said}");
    let lines = |text: &str| text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let files = unpacked(&std::fs::read(&file).unwrap());
    let files = files.into_iter().map(|(name, text)| (name, lines(&text))).collect();
    (file.to_str().unwrap().to_owned(), files)
}

/// A page without what differs between two visits: how long ago something was, in words.
fn without_ages(page: &str) -> String {
    let mut shown = String::new();
    let mut words = page.split_inclusive(' ').peekable();
    while let Some(word) = words.next() {
        let is_age = words
            .peek()
            .is_some_and(|next| ["second", "minute", "hour"].iter().any(|unit| next.starts_with(unit)));
        if is_age {
            let start = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ');
            shown.push_str(start);
            words.next();
        } else {
            shown.push_str(word);
        }
    }
    // Deleted stories and comments are counted, but not exported.
    let count = "<span class=\"count\">";
    let parts = shown.split(count).map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()));
    shown = parts.collect::<Vec<_>>().join(count);
    // Administrators have that role on their own site only.
    shown
        .replace("<div><dt>role</dt><dd>administrator</dd></div>", "")
        .replace("just now", "")
        .replace(" ago", "")
}

/// A site without posts in timelines, which are not exported.
fn start(place: &Place) -> Program {
    let settings =
        [("TIDINGS_LIMITS__ACCOUNT_CREATION_SECONDS", "0"), ("TIDINGS_FEATURES__TIMELINES", "false")];
    Program::start_with(&place.url, &settings)
}

/// A community with all that an export has.
async fn community(program: &Program) {
    let alice = program.visitor().register("alice").await;
    let bob = program.visitor().register("bob").await;
    let carol = program.visitor().register("carol").await;
    ok(alice.update_profile("I am *alice*.\n\nSee https://a.example", "", "").await);
    for (topics, title, url, text) in [
        ("rust, web", "A link with topics", "https://example.com/one", ""),
        ("", "A text", "", "Some *text*\nwith lines\n\n    and code\n\n> quoted & <b>"),
        ("web", "Another link", "https://example.org/two", "and its text"),
    ] {
        let fields = [("news_id", "-1"), ("title", title), ("url", url), ("text", text), ("topics", topics)];
        ok(alice.api_post("/api/submit", &fields).await);
    }
    bob.comment(1, "First **comment**").await;
    carol.reply(1, 1, "A reply to it").await;
    bob.comment(1, "This one is deleted").await;
    carol.reply(1, 3, "but its reply stays").await;
    bob.comment(1, "Deleted alone").await;
    bob.comment(2, "On the text").await;
    for deleted in [3, 5] {
        ok(bob.edit_comment(1, deleted, "").await);
    }
    for (person, vote) in [(&bob, "up"), (&carol, "up")] {
        ok(person.vote(1, vote).await);
    }
    ok(carol.vote_comment(2, 1, "up").await);
    let removed = carol.submit_link("A removed story", "https://removed.example").await;
    ok(alice.moderate("remove", ("story", &*removed.to_string()), &[("reason", "spam")]).await);
    carol.submit_link("A deleted story", "https://deleted.example").await;
    ok(carol.delete(removed + 1).await);
}

/// All that visitors read.
const PAGES: &str = "/ /latest /best /topics /topic/rust /topic/web /news/1 /news/2 /news/3 /comments \
    /user/alice /user/bob /user/carol?show=about /site/example.com/stories/0";

#[tokio::test]
async fn out_and_in_gives_the_same_pages() {
    for [from, to] in [[Place::embedded(), Place::redis()], [Place::redis(), Place::embedded()]] {
        let program = start(&from);
        community(&program).await;
        let (file, files) = exported(&from, "site.zip");
        assert_eq!(files["about.json"][0]["format"], 1);
        let shown = format!("{files:?}");
        for secret in
            ["removed.example", "A removed story", "A deleted story", "This one is deleted", "Deleted alone"]
        {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
        for public in ["Some *text*\\nwith lines", "\"topics\"", "https://a.example"] {
            let is_shown = shown.contains(public) || shown.contains(&public.replace('\\', "\\\\"));
            assert!(is_shown, "{public} in {shown}");
        }
        let said = to.run(&["import", "hn", "--create", &file]).good();
        assert!(said.contains("imported 3 stories, 5 comments and 3 profiles"), "{said}");
        let other = start(&to);
        let [one, two] = [program.visitor(), other.visitor()];
        for path in PAGES.split(' ') {
            let pages = [source(&one, path).await, source(&two, path).await].map(|page| without_ages(&page));
            assert_eq!(pages[0], pages[1], "{path}");
        }
        // An export from there is the same, except for the numbers.
        let (_, again) = exported(&to, "again.zip");
        let texts = |files: &HashMap<String, Vec<Value>>| {
            let texts = files["items.jsonl"].iter().map(|item| item["source_text"].clone());
            texts.filter(|text| !text.is_null()).collect::<Vec<_>>()
        };
        assert_eq!(texts(&files), texts(&again));
        drop((program, other));
        let store = to.run(&["check", "store"]);
        assert_eq!(store.code, Some(0), "{store:?}");

        // A repeat adds nothing, and the site itself is not doubled.
        let again = to.run(&["import", "hn", "--create", &file]).good();
        assert!(again.contains("imported 0 stories, 0 comments and 0 profiles"), "{again}");
        let own = from.run(&["import", "hn", "--create", &file]).failed(1);
        assert!(own.contains("import it into an empty store"), "{own}");
    }
}

#[test]
fn an_export_overwrites_no_file_and_needs_a_site() {
    let place = Place::embedded();
    place.run(&["create"]).good();
    let file = place.file("there.zip", "precious");
    let there = place.run(&["export", "site", file.to_str().unwrap()]).failed(1);
    assert!(there.contains("exists already"), "{there}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
    let new = place.folder.path().join("new.zip");
    let said = place.run(&["export", "site", new.to_str().unwrap()]).good();
    assert!(said.starts_with("exported 0 lines"), "{said}");
    let nowhere = place.run(&["export", "site", "/no/such/folder/x.zip"]).failed(1);
    assert!(nowhere.contains("/no/such/folder"), "{nowhere}");
}

//! Importing archives in the shape of the API of Hacker News.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use tidings_domain::User;
use tidings_domain::accounts::trust::lacking;
use tidings_domain::values::html::markdown_of_html;
use tidings_domain::values::{Rules, Timestamp};
use tidings_keyspace::{Store, StoreOptions};
use tidings_web::features::hacker_news::text::text_html;

use crate::client::{Client, ok};
use crate::commands::{Place, start};
use crate::consistency::hash;
use crate::program::Ran;

/// A time in the past.
const TIME: u64 = 1_400_000_000;

/// An archive with each kind of line.
fn archive() -> Vec<Value> {
    vec![
        json!({"id": "pg", "created": 1_160_418_092, "karma": 157_316, "about": "Bug <i>fixer</i>.<p>http:&#x2F;&#x2F;a.com"}),
        json!({"id": 10, "type": "story", "by": "pg", "time": TIME, "title": "Y &amp; co", "score": 57, "descendants": 4,
               "url": "http://ycombinator.com", "kids": [15, 11]}),
        json!({"id": 11, "type": "comment", "by": "1x", "time": TIME + 10, "parent": 10, "text": "It&#x27;s <i>so</i>", "kids": [13]}),
        // Its parent comes later.
        json!({"id": 14, "type": "comment", "by": "_ann-", "time": TIME + 40, "parent": 13, "text": "deep"}),
        json!({"id": 13, "type": "comment", "deleted": true, "time": TIME + 30, "parent": 11, "kids": [14]}),
        Value::Null,
        json!({"id": 15, "type": "comment", "by": "pg", "time": TIME + 50, "parent": 10, "text": "a<p>b_c_ &lt;d&gt; *e*"}),
        json!({"id": 16, "type": "story", "by": "_ann-", "time": TIME + 60, "title": "Ask: why?", "text": "Because", "score": 1}),
        json!({"id": 17, "type": "story", "by": "_ann-", "time": TIME + 70, "title": "Both", "text": "A text", "url": "https://a.com/b"}),
        json!({"id": 18, "type": "story", "dead": true, "by": "spam", "time": TIME + 80, "title": "Buy"}),
        json!({"id": 19, "type": "comment", "by": "1x", "time": TIME + 90, "parent": 18, "text": "under the dead one"}),
        json!({"id": 20, "type": "poll", "by": "pg", "time": TIME + 95, "title": "What?", "parts": [21]}),
        json!({"id": 21, "type": "pollopt", "by": "pg", "time": TIME + 95, "text": "this", "poll": 20}),
        json!({"id": 22, "type": "job", "by": "pg", "time": TIME + 99, "title": "Hiring", "url": "https://job.com"}),
    ]
}

fn lines(items: &[Value]) -> String {
    items.iter().map(|item| format!("{item}\n")).collect()
}

/// Imports an archive.
fn import(place: &Place, archive: &str, options: &[&str]) -> Ran {
    let file = place.file("hn.jsonl", archive);
    place.run(&[&["import", "hn", "--create", file.to_str().unwrap()], options].concat())
}

async fn get(client: &Client, path: &str) -> Value {
    client.get(path).await.json()
}

/// The ids below an item, nested.
async fn kids(client: &Client, number: u64) -> Value {
    let item = get(client, &format!("/v0/item/{number}.json")).await;
    let mut below = serde_json::Map::new();
    for kid in item["kids"].as_array().into_iter().flatten() {
        let kid = kid.as_u64().unwrap();
        below.insert(kid.to_string(), Box::pin(kids(client, kid)).await);
    }
    Value::Object(below)
}

/// The text that a reader sees of HTML in the form of Hacker News, in one line.
fn shown(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, tagged)) = rest.split_once('<') {
        text.push_str(before);
        let (tag, after) = tagged.split_once('>').unwrap();
        if ["p", "pre", "/pre"].contains(&tag) {
            text.push(' ');
        }
        rest = after;
    }
    text.push_str(rest);
    for (entity, character) in
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#x2F;", "/"), ("&amp;", "&")]
    {
        text = text.replace(entity, character);
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

proptest! {
    // The same texts each time, because a run must not depend on chance. Change the number to look for others.
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::with_cases(500) })]

    #[test]
    fn an_imported_text_is_shown_as_it_was(
        parts in proptest::collection::vec(
            prop_oneof![
                proptest::sample::select(vec![
                    "a", "b1", " ", " ", "*", "_", "`", "[", "]", "(", ")", "&lt;", "&gt;", "#", "-", "+", "1.", "2)",
                    "\\", "!", "&amp;", "amp;", "&quot;", "&#x27;", "~~~", "```", "=", ":", ".", ",", "\n", "<p>",
                    "<i>", "</i>", "<i>word</i>", "<i>two words</i>", "@bob", "www.a.com", "http:&#x2F;&#x2F;a.com&#x2F;x_y_z",
                    "https://b.org/(c)*d*", "&lt;b&gt;", "<pre><code>  x * _y_ `z`\n    w</code></pre>",
                    "<a href=\"https:&#x2F;&#x2F;c.net&#x2F;d_e_f\">https:&#x2F;&#x2F;c.net&#x2F;d_e_f</a>",
                    "<a href=\"https://c.net/(d)\">some [words]*</a>", "é", "日本",
                ]).prop_map(str::to_owned),
                "[ -~]{0,6}".prop_map(|text| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")),
            ],
            0..14,
        ),
    ) {
        let html = parts.concat();
        let markdown = markdown_of_html(&html);
        prop_assert_eq!(shown(&text_html(&markdown)), shown(&html), "{} became {}", html, markdown);
    }
}

#[tokio::test]
async fn an_archive_becomes_stories_threads_and_people() {
    for place in Place::each() {
        let said = import(&place, &lines(&archive()), &[]).good();
        for words in [
            "imported 4 stories, 3 comments and 1 profile; 0 already existed; 0 lines were refused",
            "not taken: 1 deleted, 1 dead, 2 polls and their choices, 1 line with null; the places of 1 deleted \
             or dead comment in threads are kept",
            "left out 1 comment, because what they reply to is not there, such as on line 11",
        ] {
            assert!(said.contains(words), "{words} in {said}");
        }
        place.run(&["check", "store"]).good();
        place.run(&["check", "articles"]).good();

        let program = start(&place);
        let reader = program.visitor();
        let story = get(&reader, "/v0/item/1.json").await;
        for (member, expected) in [
            ("by", json!("pg")),
            ("score", json!(57)),
            ("time", json!(TIME)),
            ("title", json!("Y & co")),
            ("descendants", json!(3)),
            ("url", json!("http://ycombinator.com")),
        ] {
            assert_eq!(story[member], expected, "{story}");
        }
        let comment = get(&reader, "/v0/item/2.json").await;
        assert_eq!((&comment["text"], &comment["by"]), (&json!("It&#x27;s <i>so</i>"), &json!("1x")));
        // The order of the lines, but for the comment that was before its parent.
        let numbers = kids(&reader, 1).await;
        assert_eq!(numbers, json!({"2": {"3": {"9": {}}}, "4": {}}), "{numbers}");
        assert_eq!(get(&reader, "/v0/item/3.json").await["deleted"], true);
        assert_eq!(get(&reader, "/v0/item/4.json").await["text"], "a<p>b_c_ &lt;d&gt; *e*");
        assert_eq!(get(&reader, "/v0/item/5.json").await["text"], "Because");
        // The text of a link is its first comment.
        let first = get(&reader, "/v0/item/7.json").await;
        assert_eq!((&first["parent"], &first["text"]), (&json!(6), &json!("A text")));
        let person = get(&reader, "/v0/user/pg.json").await;
        assert_eq!(
            (&person["karma"], &person["created"], person["submitted"].as_array().unwrap().len()),
            (&json!(157_316), &json!(1_160_418_092), 3)
        );
        assert!(person["about"].as_str().unwrap().starts_with("Bug fixer.<p><a href"), "{person}");

        // All that shows votes.
        let page = reader.text("/news/1").await;
        assert!(page.contains(r#"<span data-count="up">57</span>"#), "{page}");
        assert_eq!(reader.news(1).await["up"], 57);
        assert_eq!(get(&reader, "/api/v1/items/1").await["points"], 57);
        let best = reader.text("/latest").await;
        assert!(best.contains(r#"<span data-count="up">57</span>"#), "{best}");

        // Votes here count besides.
        let bob = reader.register("bob").await;
        ok(bob.vote(1, "up").await);
        assert_eq!(reader.news(1).await["up"], 58);
        ok(bob.vote_comment(1, 1, "up").await);
        assert_eq!(get(&reader, "/v0/item/1.json").await["score"], 58);
        drop(program);
        let again = import(&place, &lines(&archive()), &[]).good();
        assert!(
            again.contains("imported 0 stories, 0 comments and 0 profiles; 8 already existed"),
            "{again}"
        );
        place.run(&["check", "store"]).good();
    }
}

#[tokio::test]
async fn imported_votes_are_a_field_of_their_own_and_karma_counts_for_trust_only_if_the_operator_says_so() {
    for (options, is_trusted) in [(&[][..], false), (&["--trust-karma"], true)] {
        let place = Place::embedded();
        import(&place, &lines(&archive()), options).good();
        place.run(&["check", "store"]).good();
        let store = Store::open(&place.url, &StoreOptions::default()).await.unwrap();
        let dump = crate::server::dump(&store).await;
        let story = hash(&dump, "news:1");
        assert_eq!((&*story["up"], &*story["imported_votes"], &*story["source"]), ("1", "56", "hn:10"));
        assert_eq!(story["score"].parse::<f64>().unwrap().floor(), 62.0, "{story:?}");
        let index = &dump["imported:hn"];
        assert!(format!("{index:?}").contains("10"), "{index:?}");

        let is_user = |key: &&String| key.strip_prefix("user:").is_some_and(|id| id.parse::<u64>().is_ok());
        let mut users = dump.keys().filter(is_user).map(|key| hash(&dump, key));
        let pg = users.find(|user| user.get("username").is_some_and(|name| name == "pg"));
        let mut pg = User::from_hash(&tidings_keyspace::Hash(pg.unwrap().into_iter().collect())).unwrap();
        assert_eq!(pg.karma, 157_316);
        let rules = Rules::default().trust;
        let lacks = |user: &User| lacking(&rules, Timestamp(TIME + 10 * 365 * 86_400), user);
        assert_eq!(lacks(&pg).is_none(), is_trusted, "{options:?}");
        // Karma that is earned here counts.
        pg.karma += 10;
        assert_eq!(lacks(&pg), None);
    }
}

#[test]
fn lines_that_nobody_could_have_posted_are_refused_one_by_one() {
    let place = Place::embedded();
    let future = json!({"id": 1, "type": "story", "by": "a", "time": 9_999_999_999_u64, "title": "t"});
    let control = json!({"id": 2, "type": "story", "by": "a", "time": TIME, "title": "a\u{7}b"});
    let nested = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let large =
        json!({"id": 3, "type": "story", "by": "a", "time": TIME, "title": "t", "text": "x".repeat(70_000)});
    let good = json!({"id": 4, "type": "story", "by": "a", "time": TIME, "title": "Good"});
    let long = format!("\"{}\"", "x".repeat(5 * 1024 * 1024));
    let most = 1_000_000_000_000_000_000_u64;
    let rich = json!({"id": "rich", "created": TIME, "karma": most});
    let poor = json!({"id": "poor", "created": TIME, "karma": -1_000_000_000_000_000_000_i64});
    let popular = json!({"id": 5, "type": "story", "by": "a", "time": TIME, "title": "t", "score": most});
    let votes = json!({"up": 1, "down": most});
    let unpopular = json!({"id": 6, "type": "story", "by": "a", "time": TIME, "title": "t", "votes": votes});
    let site = json!({"id": "example.com", "type": "site", "votes": votes});
    let text = [
        format!("{future}\n{control}\n{nested}\n\n{large}\nnot JSON\n{long}\n{good}\n"),
        format!("{rich}\n{poor}\n{popular}\n{unpopular}\n{site}\n"),
    ];
    let text = text.concat();
    let ran = import(&place, &text, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let expected = "line 1: its time 9999999999 is in the future|\
        line 2: its title has a control character (U+0007)|line 3: it is no item of Hacker News|\
        line 5: its text has more than 65,536 bytes|line 6: it is no item of Hacker News|\
        line 7: it has more than 4,194,304 bytes|\
        line 9: its karma 1000000000000000000 is not between -1000000000 and 1000000000|\
        line 10: its karma -1000000000000000000 is not|line 11: its score 1000000000000000000 is not|\
        line 12: its votes 1000000000000000000 is not|line 13: its votes 1000000000000000000 is not|\
        11 lines of ";
    for words in expected.split('|') {
        assert!(ran.err.contains(words), "{words} in {}", ran.err);
    }
    assert!(ran.out.contains("imported 1 story, 0 comments"), "{}", ran.out);
}

#[test]
fn an_import_stops_at_its_caps_with_a_sentence_and_goes_on_when_it_is_run_again() {
    let place = Place::embedded();
    let file = place.file("hn.jsonl", &lines(&archive()));
    let import = ["import", "hn", "--create", file.to_str().unwrap()];
    let size = place.run(&[&import[..], &["--max-mebibytes", "0"]].concat()).failed(1);
    assert!(size.contains("stopped after 0 MiB"), "{size}");
    let time = place.run(&[&import[..], &["--max-minutes", "0"]].concat()).failed(1);
    assert!(time.contains("stopped after 0 minutes; run the command again"), "{time}");
    let rest = place.run(&import).good();
    assert!(!rest.contains("; 0 already existed"), "{rest}");
    place.run(&["check", "store"]).good();
}

#[test]
fn comments_before_their_parents_are_put_aside_even_from_standard_input() {
    let count = 3_000;
    let comment = |number: u64| {
        let parent = if number.is_multiple_of(50) { 1 } else { number - 1 };
        json!({"id": number, "type": "comment", "by": format!("u{}", number % 7), "time": TIME + number,
               "parent": parent, "text": format!("comment {number}")})
    };
    let stories = (0..4).map(|story| {
        json!({"id": 1 + story * 10_000, "type": "story", "by": "a", "time": TIME, "title": "t", "text": "x"})
    });
    // Not more than a thread may have.
    let comments = (0..2).flat_map(|story| {
        (2..count / 2).map(move |number| {
            let mut comment = comment(number);
            for member in ["id", "parent"] {
                comment[member] = (comment[member].as_u64().unwrap() + story * 10_000).into();
            }
            comment
        })
    });
    let mut all: Vec<Value> = stories.chain(comments).collect();
    all.reverse();
    for place in Place::each() {
        let said = place.run_with(&["import", "hn", "--create", "-"], &lines(&all), &[]).good();
        assert!(said.contains("imported 4 stories, 2,996 comments"), "{said}");
        assert!(!said.contains("left out"), "{said}");
        place.run(&["check", "store"]).good();
    }
}

#[tokio::test]
async fn an_import_that_is_killed_goes_on_without_doubles() {
    for place in Place::each() {
        let count = 6_000_u64;
        let items: Vec<Value> = (1..=count)
            .map(|number| match number % 6 {
                1 => json!({"id": number, "type": "story", "by": format!("u{}", number % 97), "time": TIME + number,
                            "title": format!("Story {number}"), "url": format!("https://a.com/{number}"), "score": 3}),
                _ => json!({"id": number, "type": "comment", "by": format!("u{}", number % 89), "time": TIME + number,
                            "parent": number - 1, "text": format!("comment {number}")}),
            })
            .collect();
        let file = place.file("hn.jsonl", &lines(&items));
        let import = ["import", "hn", "--create", file.to_str().unwrap()];
        let program = start(&place);
        let reader = program.visitor();
        for _ in 0..3 {
            let before = get(&reader, "/v0/maxitem.json").await;
            let mut running = place.command(&import).spawn().unwrap();
            tidings_testing::until_ok(async || {
                let has_begun = get(&reader, "/v0/maxitem.json").await != before;
                if has_begun || running.try_wait().unwrap().is_some() { Ok(()) } else { Err("nothing new") }
            })
            .await;
            running.kill().unwrap();
            running.wait().unwrap();
        }
        let said = place.run(&import).good();
        let number = |from: &str, to: &str| {
            let (_, rest) = said.split_once(from).unwrap();
            rest.split_once(to).unwrap().0.replace(',', "").parse::<u64>().unwrap()
        };
        let [stories, comments, known] = [
            number("imported ", " stor"),
            number("stories, ", " comments"),
            number("profiles; ", " already"),
        ];
        assert_eq!(stories + comments + known, count, "{said}");
        let dump_of = place.run(&import).good();
        assert!(
            dump_of.contains("imported 0 stories, 0 comments and 0 profiles; 6,000 already"),
            "{dump_of}"
        );
        // Each story is there once, with its comments.
        let mut seen = std::collections::HashSet::new();
        let mut start = 0;
        loop {
            let page = ok(reader.api_get(&format!("/api/getnews/latest/{start}/32")).await);
            let news = page["news"].as_array().unwrap();
            if news.is_empty() {
                break;
            }
            for story in news {
                assert!(seen.insert(story["title"].clone()), "{story}");
                assert_eq!((&story["comments"], &story["up"]), (&json!(5), &json!(3)), "{story}");
            }
            start += news.len();
        }
        assert_eq!(seen.len(), 1_000);
        drop(program);
        place.run(&["check", "store"]).good();
    }
}

#[tokio::test]
async fn nothing_that_is_there_is_overwritten() {
    let place = Place::embedded();
    let mut program = start(&place);
    let alice = program.visitor().register("pg").await;
    ok(alice.update_profile("Mine", "", "").await);
    let said = import(&place, &lines(&archive()), &[]).good();
    assert!(
        said.contains("1 person got another username, because theirs is taken: pg is pg-2 here"),
        "{said}"
    );
    let reader = program.visitor();
    assert_eq!(get(&reader, "/v0/user/pg.json").await["about"], "Mine");
    assert_eq!(get(&reader, "/v0/user/pg-2.json").await["karma"], 157_316);
    assert_eq!(get(&reader, "/v0/item/1.json").await["by"], "pg-2");

    // The same numbers of another site are other items.
    let other = import(&place, &lines(&archive()), &["--source", "other.example"]).good();
    assert!(other.contains("imported 4 stories") && other.contains("pg is pg-3 here"), "{other}");

    // An account with a password keeps its profile, and a closed thread stays closed.
    place.run_with(&["user", "password", "pg-2"], "swordfish 12\n", &[]).good();
    program.visitor().log_in("pg-2", "swordfish 12").await;
    place.run(&["user", "promote", "pg"]).good();
    place.run(&["moderate", "lock", "story", "1", "--as", "pg", "--reason", "enough"]).good();
    let more = [
        json!({"id": "pg", "created": 1, "karma": 5, "about": "another"}),
        json!({"id": 100, "type": "comment", "by": "x", "time": TIME, "parent": 11, "text": "late"}),
    ];
    let file = place.file("more.jsonl", &lines(&more));
    let ran: Ran = place.run(&["import", "hn", "--create", file.to_str().unwrap()]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("line 2: its thread is locked here"), "{}", ran.err);
    assert_eq!(get(&reader, "/v0/user/pg-2.json").await["karma"], 157_316);
    program.kill();
    place.run(&["check", "store"]).good();
}

#[tokio::test]
async fn a_byte_order_mark_is_skipped_whole_numbers_may_have_a_fraction_and_an_array_is_named() {
    let place = Place::embedded();
    let story = json!({"id": 1, "type": "story", "by": "pg", "time": 1_400_000_000.0, "title": "A", "url": "http://a.com"});
    let said = import(&place, &format!("\u{feff}{story}\n"), &[]).good();
    assert!(said.contains("imported 1 story") && said.contains("0 lines were refused"), "{said}");
    for mark in ["", "\u{feff}"] {
        let file = place.file("array.json", &format!("{mark} [{story}]"));
        let ran: Ran = place.run(&["import", "hn", file.to_str().unwrap()]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains("this is a JSON array. Give each item a line of its own"), "{}", ran.err);
    }
}

#[tokio::test]
async fn topics_and_votes_on_sites_are_imported_unless_there_are_some() {
    let lines = lines(&[
        json!({"id": 1, "type": "story", "by": "a", "time": TIME, "title": "t", "url": "https://lwn.net/1", "topics": ["rust"]}),
        json!({"type": "topic", "id": "rust", "about": "A language"}),
        json!({"type": "site", "id": "lwn.net", "votes": {"up": 5, "down": 2}}),
    ]);
    for place in Place::each() {
        let file = place.file("more.jsonl", &lines);
        let import = ["import", "hn", "--create", file.to_str().unwrap()];
        let said = place.run(&import).good();
        assert!(said.contains("imported the votes on 1 site and the sentences of 1 topic"), "{said}");
        let program = start(&place);
        let reader = program.visitor();
        let page = reader.text("/topic/rust").await;
        assert!(page.contains("A language"), "{page}");
        let site = ok(reader.api_get("/api/sites/history/lwn.net").await);
        assert_eq!((&site["sum"], &site["count"]), (&json!(3), &json!(7)), "{site}");
        let again = place.run(&import).good();
        assert!(again.contains("; 3 already existed") && !again.contains("sentences"), "{again}");
        drop(program);
        place.run(&["check", "store"]).good();
    }
}

#[test]
fn what_is_no_archive_is_named() {
    let place = Place::embedded();
    let missing = place.run(&["import", "hn", "--create", "/no/such.jsonl"]).failed(1);
    assert!(missing.contains("cannot read /no/such.jsonl"), "{missing}");
    let zip = place.run_with(&["import", "hn", "--create", "-"], "PK\u{3}\u{4}", &[]).failed(2);
    assert!(zip.contains("an export cannot be read from standard input"), "{zip}");
    let broken = place.file("broken.zip", "PK\u{3}\u{4} and nothing");
    let broken = place.run(&["import", "hn", "--create", broken.to_str().unwrap()]).failed(1);
    assert!(broken.contains("cannot read"), "{broken}");
    let source = place.run(&["import", "hn", "--create", "-", "--source", "A B"]).failed(2);
    assert!(source.contains("a source is 1 to 100 characters"), "{source}");
}

//! Hidden texts cannot be rebuilt from the answers of the search: two sites that differ only in their hidden
//! texts answer everything alike.

use super::{ON, finds, names, search};
use crate::client::{Client, ok};
use crate::pages::page;
use crate::removals::act;
use crate::server::{Engine, Server, in_memory};
use std::collections::BTreeSet;

/// The hidden words of each site.
const SECRETS: [&str; 2] = ["kestrel orchid beneath marbled harbour", "walnut lantern across frozen meadow"];
/// The words that everybody can read on both.
const SEEN: [&str; 3] = ["An orchid and a lantern", "The harbour at the meadow", "Kestrels like a walnut"];

const HIDING: [(&str, &str); 2] = [ON[0], ("moderation.hide_at", "2")];

async fn flag_away(readers: &[Client], kind: &str, id: &str) {
    for reader in readers {
        ok(reader.call(&format!("/api/flag?kind={kind}&id={id}&reason=spam&note=")).await);
    }
}

/// A site where the same is seen, and where every way of hiding hides the secret. Returns the author of what is hidden.
async fn site(server: &Server, secret: &str) -> Client {
    let alice = server.register("alice").await;
    let author = server.member("author").await;
    server.set_karma(&author, 100).await;
    let readers = server.members(2).await;
    for title in SEEN {
        let story = alice.submit_text(title, "seen by all").await;
        alice.comment(story, title).await;
        alice.tweet(title).await;
        // Of equally good ones the newest comes first.
        server.advance(1);
    }
    alice.submit_on("seen,others", "On topics").await;
    let first = secret.split(' ').next().unwrap();
    let (url, topics) = (format!("https://{first}.example/"), format!("{first},hidden,seen"));
    let flagged = author.submit_link_on(&topics, secret, &url).await;
    alice.comment(flagged, secret).await;
    let comment = author.comment(1, secret).await;
    let post = author.tweet(secret).await;
    ok(author.update_profile(secret, "", "").await);
    let removed = author.submit_text(secret, secret).await;
    flag_away(&readers, "story", &flagged.to_string()).await;
    flag_away(&readers, "comment", &format!("1-{comment}")).await;
    flag_away(&readers, "tweet", &post.to_string()).await;
    act(&alice, "remove", ("story", &removed.to_string())).await;
    act(&alice, "remove", ("user", "author")).await;
    act(&alice, "hold", ("user", "author")).await;
    author.try_tweet(&format!("{secret} held")).await;
    let banned = server.member("banned").await;
    ok(banned.update_profile(secret, "", "").await);
    act(&alice, "ban", ("user", "banned")).await;
    alice.submit_text("The last of all", "text").await;
    finds(&server.visitor(), "q=last+of+all", &["The last of all"]).await;
    author
}

/// Everything that one can ask about some words.
fn questions() -> BTreeSet<String> {
    let all: Vec<&str> = SECRETS.iter().chain(&SEEN).flat_map(|text| text.split(' ')).collect();
    let mut questions = BTreeSet::new();
    for word in &all {
        let begin = &word[..word.len().min(3)];
        for q in [
            (*word).to_owned(),
            format!("{begin}*"),
            format!("{word}s"),
            format!("{word}x+seen"),
            format!("{word}+unknown"),
            format!("topic:{word}"),
            format!("site:{word}.example"),
            format!("https://{word}.example/"),
            format!("title:{word}"),
        ] {
            questions.insert(format!("/api/search?q={q}&kind=all"));
            questions.insert(format!("/api/search?q={q}"));
            questions.insert(format!("/api/search?q={q}&page=2"));
        }
        questions.insert(format!("/api/search?q={word}&kind=people"));
        questions.insert(format!("/api/search?q={word}&kind=sites"));
        questions.insert(format!("/api/search/suggest?q={begin}"));
        questions.insert(format!("/api/search/suggest?q={word}"));
        questions.insert(format!("/api/search/similar?title={word}+seen"));
        questions.insert(format!("/api/v1/search?query={word}"));
        questions.insert("/api/topics".to_owned());
        questions.insert("/api/getnews/latest/0/30".to_owned());
        questions.insert("/api/getnews/top/0/30".to_owned());
        questions.insert("/api/past/2027-01-15/0/30".to_owned());
        questions.insert("/api/past/2027-01/0/30".to_owned());
        questions.insert("/api/topic/seen/score/1".to_owned());
        questions.insert("/api/topic/seen,hidden/time/1".to_owned());
        questions.insert("/api/articles/score/1".to_owned());
    }
    for pair in all.windows(2) {
        questions.insert(format!("/api/search?q=%22{}+{}%22&kind=all", pair[0], pair[1]));
    }
    questions
}

#[tokio::test]
async fn a_hidden_text_cannot_be_rebuilt_word_by_word() {
    let sites = [Server::start(Engine::Memory, &HIDING).await, Server::start(Engine::Memory, &HIDING).await];
    let mut authors = Vec::new();
    for (server, secret) in sites.iter().zip(SECRETS) {
        authors.push(site(server, secret).await);
    }
    let visitors = [sites[0].visitor(), sites[1].visitor()];
    let readers = [sites[0].member("reader").await, sites[1].member("reader").await];
    for question in questions() {
        for askers in [&visitors, &readers] {
            let mut answers = Vec::new();
            for asker in askers {
                let mut answer = asker.api_get(&question).await;
                if let Some(answer) = answer.as_object_mut() {
                    answer.remove("processingTimeMS");
                    if answer.contains_key("total") {
                        assert_eq!(answer["total_is_exact"], true, "{question}");
                    }
                }
                answers.push(answer);
            }
            assert_eq!(answers[0], answers[1], "{question}");
        }
    }
    let opml = async |visitor: &Client| visitor.text("/feeds.opml").await;
    assert_eq!(opml(&visitors[0]).await, opml(&visitors[1]).await);
    let topic = async |visitor: &Client| page(visitor, "/topic/seen").await.text().to_owned();
    assert_eq!(topic(&visitors[0]).await, topic(&visitors[1]).await);
    // A person who may see it finds it.
    let found = search(&authors[0], "q=orchid+beneath&kind=all").await;
    assert_eq!((names(&found).len(), &found["total"]), (4, &4.into()), "{found:#}");
}

#[in_memory(&HIDING)]
async fn what_flags_have_hidden_counts_at_once_for_nobody_but_insiders(server: Server) {
    let alice = server.register("alice").await;
    let author = server.member("author").await;
    let readers = server.members(2).await;
    let story = author.submit_text("A needle", "hay").await;
    readers[0].comment(story, "needlework").await;
    finds(&alice, "q=needle*&kind=all", &["A needle", "needlework"]).await;
    flag_away(&readers, "story", &story.to_string()).await;
    author.submit_text("Later", "text").await;
    finds(&alice, "q=later", &["Later"]).await;
    let total = async |client: &Client| {
        let found = search(client, "q=needle*&kind=all").await;
        assert_eq!(found["total_is_exact"], true, "{found}");
        assert_eq!(found["total"], names(&found).len());
        found["total"].as_u64().unwrap()
    };
    let curious = server.member("curious").await;
    ok(curious.call("/api/updateprofile?about=&email=&show_hidden=1").await);
    for (client, expected) in
        [(&server.visitor(), 0), (&readers[0], 0), (&author, 2), (&alice, 2), (&curious, 2)]
    {
        assert_eq!(total(client).await, expected);
        let listed = ok(client.api_get("/api/getnews/latest/0/30").await);
        assert_eq!(listed["count"], if expected > 0 { 2 } else { 1 }, "{listed}");
    }
}

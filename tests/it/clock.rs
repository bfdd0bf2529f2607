//! The clock is set back by a day, and forward again: no limit lasts longer than its length, and
//! nothing happens in the future.

use std::collections::BTreeSet;

use reqwest::StatusCode;
use tidings_domain::accounts::password_reset;

use crate::client::{Client, PASSWORD};
use crate::html::Page;
use crate::server::{Engine, Server, Settings, each_engine};
use crate::sites::{uuid, vote};

const DAY: u64 = 86_400;
const HOUR: u64 = 3_600;

/// Something that is limited.
#[derive(Debug, Clone, Copy)]
enum Limited {
    Submit,
    SameUrl,
    SignUp,
    Tweet,
    Comment,
    Vote,
    Read,
    LogIn,
    NewVoter,
    SiteVote,
    ResetPassword,
    VisitReward,
}

/// The limited actions, each with the setting that limits it, and for how many seconds.
const LIMITS: &[(Limited, (&str, &str), u64)] = &[
    (Limited::Submit, ("limits.submission_seconds", "2"), 2),
    (Limited::Submit, ("limits.submission_seconds", "900"), 900),
    (Limited::SameUrl, ("limits.repost_seconds", "7200"), 7_200),
    (Limited::SignUp, ("limits.account_creation_seconds", "54000"), 54_000),
    (Limited::SignUp, ("limits.signups_per_network", "1"), DAY),
    (Limited::Tweet, ("rates.tweet_per_account", "1/2s"), 2),
    (Limited::Tweet, ("rates.tweet_per_address", "1/10m"), 600),
    (Limited::Comment, ("rates.comment_per_account", "1/1h"), HOUR),
    (Limited::Vote, ("rates.vote_per_address", "1/10m"), 600),
    (Limited::Read, ("rates.read_per_address", "1/10m"), 600),
    (Limited::LogIn, ("rates.failed_login_per_address", "1/10m"), 600),
    (Limited::NewVoter, ("limits.new_voters_per_day", "1"), DAY),
    (Limited::SiteVote, ("limits.site_votes_per_network", "1"), DAY),
    (Limited::ResetPassword, ("limits.password_reset_seconds", "14400"), 14_400),
    (Limited::VisitReward, ("karma.visit_seconds", "10800"), 10_800),
];

/// A site, and the member who does a limited action.
struct Rig {
    server: Server,
    member: Client,
    stories: Vec<u64>,
    seen: BTreeSet<u64>,
    attempts: usize,
}

impl Rig {
    async fn start(setting: (&str, &str)) -> Self {
        let settings: Settings<'_> = &[setting];
        let server = Server::start(Engine::Memory, settings).await;
        let author = server.administrator("author").await;
        let mut stories = Vec::new();
        for number in 0..6 {
            // Administrators need not wait.
            stories.push(author.submit_text(&format!("Story {number}"), "text").await);
        }
        let member = match setting.0 {
            "rates.failed_login_per_address" => server.register("member").await,
            _ => server.member("member").await,
        };
        server.set_field("user:2", "email", "member@example.org").await;
        server.set_field("user:2", "karma", "1000").await;
        Self { server, member, stories, seen: BTreeSet::new(), attempts: 0 }
    }

    /// Does it; whether that was allowed.
    async fn attempt(&mut self, limited: Limited) -> bool {
        self.attempts += 1;
        let (member, visitor, number) = (&self.member, self.server.visitor(), self.attempts);
        let story = self.stories[number];
        let (title, name) = (format!("New {number}"), format!("somebody-{number}"));
        match limited {
            Limited::Submit => {
                is_ok(member, &format!("/api/submit?news_id=-1&title={title}&url=&text=text")).await
            }
            Limited::SameUrl => {
                let answer = member.submit(&title, "http://example.com/", "").await;
                self.seen.insert(answer["news_id"].as_u64().unwrap())
            }
            Limited::SignUp => {
                is_ok(&visitor, &format!("/api/create_account?username={name}&password={PASSWORD}")).await
            }
            Limited::Tweet => is_ok(member, "/api/tweet?text=A tweet").await,
            Limited::Comment => {
                let comment = "comment_id=-1&parent_id=-1&comment=A comment";
                is_ok(member, &format!("/api/postcomment?news_id={story}&{comment}")).await
            }
            Limited::Vote => is_ok(member, &format!("/api/votenews?news_id={story}&vote_type=up")).await,
            Limited::Read => visitor.get("/").await.status == StatusCode::OK,
            Limited::LogIn => {
                let log_in = async |password: &str| {
                    is_ok(&visitor, &format!("/api/login?username=member&password={password}")).await
                };
                if number == 1 {
                    log_in("a wrong password").await;
                }
                number == 1 || log_in(PASSWORD).await
            }
            Limited::NewVoter => vote_on_site(&visitor, number, &format!("site{number}.com")).await,
            Limited::SiteVote => vote_on_site(&visitor, number, "site.com").await,
            Limited::ResetPassword => {
                let (site, now) = (&self.server.app.site, self.server.app.now());
                password_reset::request_reset(site, now, "member", "member@example.org")
                    .await
                    .unwrap()
                    .is_some()
            }
            Limited::VisitReward => {
                let before = self.server.karma(member).await;
                member.get("/").await;
                self.server.karma(member).await > before
            }
        }
    }
}

/// Whether a call was not refused.
async fn is_ok(client: &Client, request: &str) -> bool {
    client.answer_to(request).await.json()["status"] == "ok"
}

/// Votes as a voter whom nobody has seen.
async fn vote_on_site(visitor: &Client, voter: usize, host: &str) -> bool {
    let answer = vote(visitor, host, 1, &uuid(voter)).await;
    answer.status.is_success()
}

#[tokio::test]
async fn no_limit_lasts_longer_than_its_length_when_the_clock_is_set_back() {
    for (limited, setting, seconds) in LIMITS {
        for forward_again in [false, true] {
            let case = format!("{limited:?} by {setting:?}, forward again: {forward_again}");
            let mut rig = Rig::start(*setting).await;
            if matches!(limited, Limited::VisitReward) {
                rig.server.advance(*seconds);
            }
            assert!(rig.attempt(*limited).await, "{case}: the first");
            assert!(!rig.attempt(*limited).await, "{case}: the second");
            rig.server.set_back(DAY);
            // Whether it is allowed now depends: some limits end at once.
            rig.attempt(*limited).await;
            if forward_again {
                rig.server.advance(DAY);
            }
            rig.server.advance(*seconds + 1);
            assert!(rig.attempt(*limited).await, "{case}: after its length");
        }
    }
}

#[tokio::test]
async fn a_jump_of_the_clock_takes_nothing_down_and_nothing_is_in_the_future() {
    each_engine(&[], check_jumps).await;
}

#[tokio::test]
async fn a_clock_that_goes_to_1970_and_back_logs_nobody_out() {
    // Redis has a clock of its own. On the embedded engine the years that a test adds have passed.
    let server = Server::start(Engine::Redis, &[]).await;
    let alice = server.member("alice").await;
    let alice = server.client_of(alice.user_id).await;
    let back = server.now() - 1_000;
    server.set_back(back);
    assert!(alice.is_logged_in().await);
    alice.get("/").await;
    server.advance(back);
    assert!(alice.is_logged_in().await);
    // The next visits are stored as before.
    server.advance(2 * HOUR);
    alice.get("/").await;
    let sessions = alice.get("/settings/sessions").await;
    assert_eq!(sessions.status, StatusCode::OK);
    let dump = server.dump().await;
    let seen: Vec<_> = dump.iter().filter(|(key, _)| key.starts_with("session:")).collect();
    assert!(format!("{seen:?}").contains(&server.now().to_string()), "{seen:?}");
}

async fn check_jumps(server: Server) {
    let (alice, bob) = (server.register("alice").await, server.register("bob").await);
    let before = alice.submit_text("Before", "text").await;
    let mut stories = vec![before];
    bob.comment(before, "A comment").await;
    bob.tweet("A tweet").await;
    for jump in 0..3 {
        server.set_back(DAY);
        let health = server.visitor().get("/health/ready").await;
        assert_eq!((health.status, &health.json()["status"]), (StatusCode::OK, &"ok".into()));
        for path in
            ["/", "/latest/0", "/best", "/home", "/everyone", "/replies", "/settings", "/admin", "/sites"]
        {
            let answer = alice.get(path).await;
            if answer.status.is_redirection() {
                continue;
            }
            assert_eq!(answer.status, StatusCode::OK, "{path}");
            let text = Page::of(&answer).text().to_owned();
            assert!(!text.contains("-1 ") && !text.contains("in the future"), "{path}: {text}");
        }
        // Sessions go on, and everything can be done.
        let after = alice.submit_text(&format!("After {jump}"), "text").await;
        stories.push(after);
        bob.comment(after, "A comment").await;
        assert_eq!(bob.vote(after, "up").await["status"], "ok");
        bob.tweet("Another tweet").await;
        if jump == 1 {
            server.advance(3 * DAY);
        }
    }
    let listed = alice.listed("latest").await;
    assert!(stories.iter().all(|story| listed.contains(story)), "{stories:?}, {listed:?}");
    crate::consistency::check(&server.dump().await);
}

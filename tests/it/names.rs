//! Names that a person would confuse cannot be registered beside each other.

use std::process::{Command, Stdio};

use futures_util::future::join_all;
use serde_json::Value;
use tidings_domain::accounts::names::fold_usernames;
use tidings_domain::imports::import_accounts;
use tidings_domain::migrations;
use tidings_domain::values::Username;

use crate::client::{Client, PASSWORD, ok, refused};
use crate::original;
use crate::redis_server::RedisServer;
use crate::server::{Batch, Engine, Server, each_engine, in_memory};

const TAKEN: &str = "This username is taken. Choose another.";
const ALIKE: &str = "This username looks too much like another one. Choose another.";
const LIKE_A_USERNAME: &str = "Your full name looks like another user's username. Choose another.";

async fn register(server: &Server, username: &str) -> Value {
    server.visitor().call(&format!("/api/create_account?username={username}&password={PASSWORD}")).await
}

async fn set_full_name(client: &Client, fullname: &str) -> Value {
    client.call(&format!("/api/updateprofile?about=&email=&fullname={fullname}")).await
}

#[in_memory]
async fn a_name_that_looks_like_another_is_refused_and_writes_nothing(server: Server) {
    server.register("Alice").await;
    server.register("b0b-1l").await;
    let before = server.dump().await;
    let alike = "aIice A1iCE Al1ce al1ce bob-11 alice_ Al-ice b0b1l BOB-Il";
    for (names, reason) in [("alice ALICE B0B-1L", TAKEN), (alike, ALIKE)] {
        for name in names.split(' ') {
            assert_eq!(refused(register(&server, name).await), reason, "{name}");
        }
    }
    assert_eq!(server.dump().await, before);
    for name in ["alicia", "bob-12", "Bob"] {
        ok(register(&server, name).await);
    }
    assert_eq!(server.string("username.folded:allce").await.as_deref(), Some("1"));
    assert_eq!(server.string("username.folded:bobll").await.as_deref(), Some("2"));
    assert_eq!(server.string("usernames.folded").await.as_deref(), Some("5"));
}

#[each_engine("races")]
async fn of_names_that_look_alike_one_is_created_when_all_are_asked_for_at_once(server: Server) {
    server.register("first").await;
    let names = ["lilo", "Ii10", "1ilo", "LILO", "lil0", "liIo"];
    let answers = join_all(names.map(|name| register(&server, name))).await;
    let folds = names.map(tidings_domain::values::lookalikes::folded);
    let different: std::collections::BTreeSet<&String> = folds.iter().collect();
    let created = answers.iter().filter(|answer| answer["status"] == "ok").count();
    assert!((1..=different.len()).contains(&created), "{created} of {different:?}");
    let keys = server.dump().await;
    let folded = keys.keys().filter(|key| key.starts_with("username.folded:")).count();
    assert_eq!(folded, created + 1);
}

#[in_memory]
async fn the_name_of_a_deactivated_account_stays_taken_with_those_that_look_like_it(server: Server) {
    server.register("admin").await;
    let alice = server.register("alice").await;
    assert_eq!(alice.post("/settings/deactivate", &[("password", PASSWORD)]).await.status, 303);
    assert_eq!(refused(register(&server, "alice").await), TAKEN);
    assert_eq!(refused(register(&server, "aIice").await), ALIKE);
}

#[tokio::test]
async fn names_of_an_older_store_count_from_the_first_sign_up_on() {
    let server = Server::on_redis(original::database().await, &[]).await;
    assert_eq!(refused(register(&server, "caro1").await), ALIKE);
    assert_eq!(refused(register(&server, "B0b").await), ALIKE);
    assert_eq!(server.string("usernames.folded").await.as_deref(), Some("3"));
    ok(register(&server, "dave").await);
    // Lamer News runs beside us, and draws ids some moments before it writes the accounts.
    server.write(|batch| batch.set("users.count", "6")).await;
    ok(register(&server, "erin").await);
    let mut batch = Batch::new();
    batch.set_fields("user:5", [("id", "5"), ("username", "Molly")]);
    batch.set("username.to.id:molly", "5");
    server.commit(batch).await;
    assert_eq!(refused(register(&server, "mo11y").await), ALIKE);
}

#[in_memory]
async fn filling_the_index_can_be_interrupted_and_the_older_account_gets_the_entry(server: Server) {
    let mut batch = Batch::new();
    batch.set("users.count", "1200");
    for id in 1..=1_200 {
        let name = if id == 900 { "user-l".to_owned() } else { format!("user-{id}") };
        batch.set_fields(format!("user:{id}"), [("id", id.to_string()), ("username", name)]);
    }
    server.commit(batch).await;
    let site = &server.app.site;
    assert!(!fold_usernames(site, 1).await.unwrap());
    assert_eq!(server.string("usernames.folded").await.as_deref(), Some("500"));
    assert!(!fold_usernames(site, 1).await.unwrap());
    assert!(fold_usernames(site, u64::MAX).await.unwrap());
    assert_eq!(server.string("usernames.folded").await.as_deref(), Some("1200"));
    assert_eq!(server.string("username.folded:userl").await.as_deref(), Some("1"));
    assert_eq!(server.string("username.folded:userl2oo").await.as_deref(), Some("1200"));
    assert_eq!(refused(register(&server, "user-12O0").await), ALIKE);
}

#[in_memory]
async fn imported_people_get_names_that_nobody_confuses(server: Server) {
    server.register("alice").await;
    let people: Vec<(String, Username)> = ["aIice", "Alice", "b0b", "bob", "carol"]
        .iter()
        .map(|name| ((*name).to_owned(), Username::parse(name).unwrap()))
        .collect();
    let found = import_accounts(&server.app.site, server.app.now(), &people).await.unwrap();
    let mut names = Vec::new();
    for (source, _) in &people {
        let user = server.hash(&format!("user:{}", found[source])).await;
        assert_eq!(user["salt"].len(), 40);
        names.push(user["username"].clone());
    }
    assert_eq!(names, ["aIice-2", "Alice-3", "b0b", "bob-2", "carol"]);
    assert_eq!(refused(register(&server, "CAR0L").await), ALIKE);
}

#[tokio::test]
async fn an_operator_cannot_add_a_name_that_looks_like_another() {
    let redis = RedisServer::start();
    let add = |name: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_tidings"))
            .args(["user", "add", name, "--create", "--store", &redis.url()])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    assert!(add("alice").0);
    let (added, reason) = add("aIice");
    assert!(!added && reason.contains("looks too much like another one"), "{reason}");
}

#[in_memory]
async fn a_full_name_never_looks_like_the_username_of_somebody_else(server: Server) {
    let alice = server.register("alice").await;
    server.register("c0c0").await;
    server.register("rnary").await;
    // The second is Cyrillic.
    for name in ["coco", "\u{441}\u{43e}\u{441}\u{43e}", "C0C0", "co\u{ad}co", "mary", "\u{ff4d}ary"] {
        let fields = [("about", ""), ("email", ""), ("fullname", name)];
        let answer = alice.post("/api/updateprofile", &fields).await;
        assert_eq!(refused(answer.json()), LIKE_A_USERNAME, "{name}");
        let page = alice.post("/settings", &fields).await;
        assert_eq!(page.status, 422);
        assert!(page.text().contains("looks like another user"));
    }
    // One's own is another matter, and so is a name of which it is a part.
    for name in ["Alice", "A1ice", "Coco Chanel", "", "Mary A."] {
        ok(set_full_name(&alice, name).await);
    }
}

#[in_memory]
async fn a_full_name_is_not_the_username_of_somebody_else_in_capitals(server: Server) {
    for name in ["igor", "alice", "Ian", "i1"] {
        server.register(name).await;
    }
    // Lamer News allowed other names once.
    server.write(|batch| batch.set("username.to.id:\u{fc}n\u{ef} x", "2")).await;
    let carol = server.register("carol").await;
    let lookalikes = "Igor|IGOR|iGOR|lgor|ALICE|AlIcE| Alice |ian|IAN|I1|\u{dc}n\u{ef} X|\
        \u{ff29}\u{ff47}\u{ff4f}\u{ff52}|\u{1d408}\u{1d420}\u{1d428}\u{1d42b}|\
        \u{a4f2}\u{a4d6}\u{a4f3}\u{a4e3}|\u{131}an";
    for name in lookalikes.split('|') {
        assert_eq!(refused(set_full_name(&carol, name).await), LIKE_A_USERNAME, "{name}");
    }
    for name in ["Carol", "CAROL", "Igor B.", "Alicia", "Gil", "\u{dc}n\u{ef}"] {
        ok(set_full_name(&carol, name).await);
    }
}

/// Accounts of earlier versions of Tidings get the fields that Lamer News needs.
#[each_engine("other versions")]
async fn accounts_of_earlier_versions_get_what_lamer_news_needs_when_names_are_indexed(server: Server) {
    server.register("first").await;
    let digest = "5".repeat(40);
    let wrapped = format!("old-digest:{}", server.field("user:1", "password").await.unwrap());
    let mut batch = Batch::new();
    batch.set("users.count", "7");
    batch.set_fields("user:2", [("id", "2"), ("deactivated", "5"), ("password", "")]);
    for (id, name, password) in [
        (3, "carol", "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA"),
        (4, "dave", &digest),
        (5, "erin", &wrapped),
        (6, "frank", ""),
    ] {
        let id = id.to_string();
        let fields = [("id", &*id), ("username", name), ("password", password)];
        batch.set_fields(format!("user:{id}"), fields);
    }
    let deactivated = [("id", "7"), ("username", "[deleted user]"), ("deactivated", "6")];
    batch.set_fields("user:7", deactivated);
    batch.set_field("user:7", "salt", "x");
    server.commit(batch).await;
    let site = &server.app.site;
    assert!(fold_usernames(site, u64::MAX).await.unwrap());
    assert_eq!(server.field("user:2", "username").await.as_deref(), Some("[deleted user]"));
    for id in [2, 3, 6] {
        assert_eq!(server.field(&format!("user:{id}"), "salt").await.unwrap().len(), 40, "{id}");
    }
    // Without a salt, a digest of 2011 is verified with that of the site.
    for id in [4, 5] {
        assert_eq!(server.field(&format!("user:{id}"), "salt").await, None, "{id}");
    }
    assert_eq!(server.field("user:7", "salt").await.as_deref(), Some("x"));
    let after = server.dump().await;
    assert!(!after.contains_key("username.folded:[deleted user]"));
    assert!(fold_usernames(site, u64::MAX).await.unwrap());
    assert_eq!(server.dump().await, after);
}

#[each_engine("other versions")]
async fn an_account_of_an_earlier_version_gets_a_salt_at_the_next_login(server: Server) {
    server.register("alice").await;
    server.write(|batch| batch.delete_field("user:1", "salt")).await;
    server.visitor().log_in("alice", PASSWORD).await;
    let salt = server.field("user:1", "salt").await;
    assert_eq!(salt.as_ref().map(String::len), Some(40));
    server.visitor().log_in("alice", PASSWORD).await;
    assert_eq!(server.field("user:1", "salt").await, salt);
}

#[in_memory]
async fn a_full_name_has_one_script_and_no_invisible_marks(server: Server) {
    let alice = server.register("alice").await;
    let mixed = "Your full name mixes letters from different scripts. Use only one script.";
    for name in ["Alice \u{410}\u{43b}\u{438}\u{441}\u{430}", "B\u{43e}b"] {
        assert_eq!(refused(set_full_name(&alice, name).await), mixed, "{name}");
    }
    for mark in ["200E", "200F", "061C", "202E", "0007"] {
        let character = char::from_u32(u32::from_str_radix(mark, 16).unwrap()).unwrap();
        let reason = format!("Your full name contains a control character (U+{mark}). Remove it.");
        assert_eq!(refused(set_full_name(&alice, &format!("a{character}b")).await), reason);
    }
    for name in [
        "Zo\u{eb} O\u{2019}Brien",
        "\u{418}\u{432}\u{430}\u{43d}",
        "\u{5c71}\u{7530}\u{30a2}\u{30ad}",
        "\u{645}\u{6cc}\u{200c}\u{62e}",
    ] {
        ok(set_full_name(&alice, name).await);
    }
}

#[in_memory(&[("web.gravatars", "true")])]
async fn a_person_may_switch_their_gravatar_off(server: Server) {
    let alice = server.register("alice").await;
    let shows = async || server.visitor().text("/@alice").await.contains("gravatar.com/avatar");
    let set = |gravatar: Option<&'static str>| {
        let mut fields = vec![("about", ""), ("email", "alice@example.org"), ("current_password", PASSWORD)];
        fields.extend(gravatar.map(|on| ("gravatar", on)));
        let alice = alice.clone();
        async move { alice.api_post("/api/updateprofile", &fields).await }
    };
    ok(set(None).await);
    assert!(shows().await);
    assert_eq!(server.field("user:1", "gravatar").await, None);
    for (gravatar, shown) in [(Some("0"), false), (None, false), (Some("1"), true)] {
        ok(set(gravatar).await);
        assert_eq!(shows().await, shown, "{gravatar:?}");
    }
    refused(set(Some("2")).await);
    let form = crate::pages::page(&alice, "/settings").await.form("/settings");
    assert_eq!(form.value("gravatar"), Some("1"));
    let off = Server::start(Engine::Memory, &[]).await;
    let bob = off.register("bob").await;
    ok(bob.update_profile("", "bob@example.org", "").await);
    assert!(!off.visitor().text("/@bob").await.contains("gravatar.com/avatar"));
}

const RESERVED: &str = "This username is reserved. Choose another.";

#[in_memory]
async fn reserved_names_are_for_the_operator_and_the_first_account(server: Server) {
    ok(register(&server, "administrator").await);
    let before = server.dump().await;
    for name in ["admin", "Adm1n", "ad-min_", "moderator", "ROOT", "support"] {
        assert_eq!(refused(register(&server, name).await), RESERVED, "{name}");
    }
    assert_eq!(server.dump().await, before);
    server.member("moderator").await;
    let bob = server.register("bob").await;
    for name in ["admin", "Admin \u{2713}", "\u{2605} A D M I N", "adm\u{131}n", "a moderator"] {
        let error = refused(set_full_name(&bob, name).await);
        assert_eq!(error, "Your full name looks like a reserved name. Choose another.", "{name}");
    }
    server.register("alice").await;
    for name in ["alice \u{2713}", "A l i c e", "\u{1f600}alice\u{1f600}"] {
        assert_eq!(refused(set_full_name(&bob, name).await), LIKE_A_USERNAME, "{name}");
    }
    // One's own name is another matter.
    let moderator = server.client_of(2).await;
    ok(set_full_name(&moderator, "Moderator").await);
}

#[in_memory(&[("accounts.reserved_names", "gazette, The Editor")])]
async fn the_operator_chooses_which_names_are_reserved(server: Server) {
    ok(register(&server, "first").await);
    for name in ["Gazette", "the-editor", "TheEd1tor"] {
        assert_eq!(refused(register(&server, name).await), RESERVED, "{name}");
    }
    ok(register(&server, "admin").await);
}

/// Names that look alike only since hyphens do not count stay as they are.
#[each_engine("other versions")]
async fn names_of_an_earlier_version_are_folded_anew_and_pairs_keep_both(server: Server) {
    server.register("first").await;
    let mut batch = Batch::new();
    batch.set("users.count", "5");
    batch.set("usernames.folded", "5");
    for (id, name) in [(2, "al-ice"), (3, "alice"), (5, "al_ice")] {
        batch.set_fields(format!("user:{id}"), [("id", id.to_string()), ("username", name.to_owned())]);
        batch.set_field(format!("user:{id}"), "salt", "x");
        batch.set(format!("username.to.id:{name}"), id.to_string());
        batch.set(format!("username.folded:{name}"), id.to_string());
    }
    // A deactivated account, whose name stays taken.
    let gone = [("id", "4"), ("username", "[deleted user]"), ("deactivated", "5"), ("salt", "x")];
    batch.set_fields("user:4", gone);
    batch.set("username.to.id:b-ob", "4");
    batch.set("username.folded:b-ob", "4");
    server.commit(batch).await;
    let site = &server.app.site;
    let earlier = migrations::StoreState { layout: 1, unreadable_layout: None, keys: 1, unfinished: None };
    for _ in 0..2 {
        server.write(|batch| batch.set("layout:version", "1")).await;
        migrations::migrate(site, &earlier, &migrations::MIGRATIONS, &|_, _| {}).await.unwrap();
        assert_eq!(server.string("username.folded:allce").await.as_deref(), Some("2"));
        assert_eq!(server.string("username.folded:bob").await.as_deref(), Some("4"));
    }
    for (id, name) in [(2, "al-ice"), (3, "alice"), (5, "al_ice")] {
        assert_eq!(server.field(&format!("user:{id}"), "username").await.as_deref(), Some(name));
    }
    for name in ["a-lice", "bob", "b_o_b"] {
        assert_eq!(refused(register(&server, name).await), ALIKE, "{name}");
    }
}

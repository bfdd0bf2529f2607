//! Pages in other languages. A pseudo-language has every text of the program in brackets, longer and with accents: what
//! stands outside brackets is what people wrote, or a text that was forgotten. Others run from right to left.
//!
//! The language is one for the process, so that these tests are a program of their own.

#![allow(clippy::unwrap_used, clippy::panic)]

use tidings_testing::{axe, browser, client, html, looks, routes, server, smtp_server};

mod choosing;

// The browser tests use more of it.
#[allow(dead_code)]
#[path = "../browser/showcase.rs"]
mod showcase;

use crate::axe::{axe_source, check_as_it_is};
use crate::client::{Client, ok};
use crate::html::Page;
use crate::looks::{faults, faults_of_header};
use crate::routes::{filled, routes_where};
use crate::server::{Engine, Server};
use crate::showcase::{Showcase, Viewer};
use crate::smtp_server::{ReceivedMessage, SmtpServer};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use regex::Regex;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::LazyLock;
use tempfile::TempDir;
use tidings_language::po::{self, quoted};
use tidings_web::features::inbox::outbox;
use tidings_web::route::ErrorFormat;
use tokio::sync::{Mutex, MutexGuard};

/// The texts of the program.
static TEMPLATE: LazyLock<String> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/web/translations/tidings.pot");
    std::fs::read_to_string(path).unwrap()
});

/// The source of what people wrote on the site.
const WRITTEN: &str = include_str!("../browser/showcase.rs");

/// Names and marks that are the same in every language, and the description of a site that has none of its own.
const THE_SAME: &str = "Tidings UTC UUID KB MB KiB MiB API JSON Atom RSS OPML OpenAPI Markdown CSV HTTP URL TOTP QR IPv4 IPv6 \
    English Deutsch Español Français Italiano harbourmaster warden qps ploc Links and discussion from our community";

/// The words of the examples at `/formatting`.
const EXAMPLES: &str =
    "Boil the water Read Run The first paragraph Wait What do you think of it coffee on two lines tea";

/// The page with the changelog, which is in English.
const CHANGES: &str = "/admin/changes";

static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

/// A site that speaks a language.
struct Speaking {
    showcase: Showcase,
    moderator: Client,
    /// The folder with the pseudo-languages.
    _folder: TempDir,
    _one: MutexGuard<'static, ()>,
}

impl Speaking {
    async fn start(language: &str) -> Self {
        let one = ONE_AT_A_TIME.lock().await;
        let folder = pseudo_folder();
        let translations = folder.path().to_str().unwrap();
        let settings = [("site.language", language), ("site.translations", translations)];
        let showcase = Showcase::with(&settings).await;
        let moderator = showcase.server.member("warden").await;
        let reason = [("reason", "For a good reason")];
        ok(showcase.administrator.moderate("make_moderator", ("user", "warden"), &reason).await);
        Self { showcase, moderator, _folder: folder, _one: one }
    }

    /// Everybody who sees pages: a visitor, a member, a moderator, an administrator.
    fn people(&self) -> [(Viewer, Client); 4] {
        let Showcase { server, member, administrator } = &self.showcase;
        [
            (Viewer::Anonymous, server.visitor()),
            (Viewer::Member, member.clone()),
            (Viewer::Moderator, self.moderator.clone()),
            (Viewer::Administrator, administrator.clone()),
        ]
    }
}

/// A folder with the pseudo-languages.
fn pseudo_folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["qps-ploc", "he"] {
        std::fs::write(folder.path().join(name).with_extension("po"), pseudo_catalogue()).unwrap();
    }
    folder
}

/// Every text of the program in the pseudo-language.
fn pseudo_catalogue() -> String {
    let mut catalogue = "msgid \"\"\nmsgstr \"Plural-Forms: nplurals=2; plural=n != 1;\\n\"\n".to_owned();
    for entry in po::read(&TEMPLATE).unwrap().iter().filter(|entry| !entry.id.is_empty()) {
        if !entry.context.is_empty() {
            writeln!(catalogue, "\nmsgctxt {}", quoted(&entry.context)).unwrap();
        }
        writeln!(catalogue, "msgid {}", quoted(&entry.id)).unwrap();
        match &entry.plural {
            None => writeln!(catalogue, "msgstr {}\n", quoted(&pseudo(&entry.id))).unwrap(),
            Some(plural) => writeln!(
                catalogue,
                "msgid_plural {}\nmsgstr[0] {}\nmsgstr[1] {}\n",
                quoted(plural),
                quoted(&pseudo(&entry.id)),
                quoted(&pseudo(plural))
            )
            .unwrap(),
        }
    }
    catalogue
}

/// A text in brackets, with accents, and a third longer. Arguments stay.
fn pseudo(text: &str) -> String {
    let mut longer = "⟦".to_owned();
    let mut is_argument = false;
    let mut letters = 0;
    for character in text.chars() {
        is_argument = (is_argument || character == '{') && character != '}';
        letters += usize::from(!is_argument);
        longer.push(match character {
            _ if is_argument => character,
            'a' => 'á',
            'e' => 'é',
            'i' => 'î',
            'o' => 'ö',
            'u' => 'ü',
            'n' => 'ñ',
            character => character,
        });
    }
    for word in 0..letters.div_ceil(12) {
        longer.push_str(if word == 0 { "öñé" } else { " twö" });
    }
    longer.push('⟧');
    longer
}

/// What is outside all brackets.
fn outside_brackets(text: &str) -> String {
    let mut depth = 0_usize;
    text.chars()
        .map(|character| {
            match character {
                '⟦' => depth += 1,
                '⟧' => depth = depth.saturating_sub(1),
                character if depth == 0 => return character,
                _ => {}
            }
            ' '
        })
        .collect()
}

/// The texts that a page shows, or says to whoever listens to it.
fn texts_of(page: &str) -> Vec<String> {
    static HIDDEN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?s)<!--.*?-->|<script.*?</script>|<style.*?</style>|<code.*?</code>|<pre.*?</pre>|<kbd.*?</kbd>|<textarea.*?</textarea>").unwrap()
    });
    static TAG: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?s)<[^>]*>").unwrap());
    static SAID: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#" (?:aria-label|title|placeholder|alt|data-t-[a-z-]*)="([^"]*)""#).unwrap()
    });
    let page = HIDDEN.replace_all(page, " ");
    let mut texts: Vec<String> = SAID.captures_iter(&page).map(|found| found[1].to_owned()).collect();
    // Brackets may open in one element and close in another.
    texts.push(TAG.replace_all(&page, "\n").into_owned());
    texts
        .iter()
        .flat_map(|text| outside_brackets(text).lines().map(str::trim).map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |word: &&str| word.len() > 1 && word.starts_with(char::is_alphabetic);
    text.split(|character: char| !character.is_alphanumeric()).filter(is_word)
}

/// The words that people wrote.
fn written_words() -> BTreeSet<&'static str> {
    let written = WRITTEN.split("\\n").flat_map(words_of);
    written.chain(words_of(THE_SAME)).chain(words_of(EXAMPLES)).collect()
}

/// The texts of a page that are in no catalogue, and that nobody wrote.
fn forgotten_texts(page: &str, written: &BTreeSet<&str>) -> impl Iterator<Item = String> {
    let page = page.replace("&quot;", "\"").replace("&amp;", "&");
    let texts = texts_of(&page).into_iter();
    texts.filter(|text| words_of(text).any(|word| !written.contains(word))).collect::<Vec<_>>().into_iter()
}

/// Fails with all texts that are forgotten.
#[track_caller]
fn demand_none(forgotten: &BTreeSet<String>) {
    let texts: Vec<&str> = forgotten.iter().map(String::as_str).collect();
    assert!(texts.is_empty(), "{} texts:\n{}", texts.len(), texts.join("\n"));
}

/// Everybody asks for every page, also for those that are refused to them.
#[tokio::test]
async fn no_text_of_a_page_is_forgotten() {
    let site = Speaking::start("qps-ploc").await;
    let written = written_words();
    let mut forgotten = BTreeSet::new();
    let pages: BTreeSet<String> = Showcase::pages().into_iter().map(|(_, page)| page).collect();
    for (viewer, client) in site.people() {
        for page in pages.iter().filter(|page| *page != CHANGES) {
            let answer = client.get(page).await;
            let answer = String::from_utf8_lossy(&answer.body).into_owned();
            forgotten
                .extend(forgotten_texts(&answer, &written).map(|text| format!("{viewer:?}{page}: {text}")));
        }
    }
    demand_none(&forgotten);
}

/// Addresses that end sessions, or answer programs.
const NOT_ASKED: [&str; 4] =
    ["/login/passkey/options", "/logout", "/settings/sessions/end", "/settings/deactivate"];

#[tokio::test]
async fn no_text_of_a_refused_form_is_forgotten() {
    let site = Speaking::start("qps-ploc").await;
    let written = written_words();
    let mut forgotten = BTreeSet::new();
    let forms = routes_where(|route| route.post.filter(|facts| facts.errors == ErrorFormat::Page));
    for route in forms.iter().filter(|route| !NOT_ASKED.contains(&route.as_str())) {
        let path = filled(route);
        for (_, client) in site.people() {
            for fields in [
                &[][..],
                &[("id", "x"), ("news_id", "x"), ("name", "\u{1}"), ("username", "0"), ("password", "x")],
            ] {
                let answer = client.post(&path, fields).await;
                let page = String::from_utf8_lossy(&answer.body).into_owned();
                forgotten.extend(forgotten_texts(&page, &written).map(|text| format!("{path}: {text}")));
            }
        }
    }
    demand_none(&forgotten);
}

/// From the start of the clock, a Friday at 8:00, to the next digest.
const TO_DIGEST: u64 = 22 * 3_600;

/// The text of a mail, which is in base64 because of its letters.
fn text_of(mail: &ReceivedMessage) -> String {
    let body = mail.text().split_whitespace().collect::<String>();
    String::from_utf8(BASE64_STANDARD.decode(body).unwrap()).unwrap()
}

#[tokio::test]
async fn no_text_of_a_mail_is_forgotten() {
    let _one = ONE_AT_A_TIME.lock().await;
    let folder = pseudo_folder();
    let mut relay = SmtpServer::start().await;
    let settings = [
        ("site.language", "qps-ploc"),
        ("site.translations", folder.path().to_str().unwrap()),
        ("mail.relay", &*relay.relay()),
        ("mail.from", "a@example.com"),
    ];
    let server = Server::start(Engine::Memory, &settings).await;
    let (alice, bob) = (server.register("alice").await, server.member("bob").await);
    ok(alice.update_profile("", "alice@example.org", "").await);
    let mut mails = vec![relay.next_message().await];
    ok(server.visitor().call("/api/reset-password?username=alice&email=alice@example.org").await);
    mails.push(relay.next_message().await);
    server.set_field("user:1", "confirmed_email", "alice@example.org").await;
    ok(alice
        .call("/api/updateprofile?about=&email=alice@example.org&password=&mail_replies=1&digest=daily")
        .await);
    server.set_karma(&bob, 100).await;
    let news = alice.submit_text("zz", "zz").await;
    bob.comment(news, "zz").await;
    bob.submit_on("rust", "zz").await;
    ok(alice.api_post("/api/followtopic", &[("topic", "rust")]).await);
    server.advance(TO_DIGEST);
    while mails.len() < 4 {
        outbox::send_due(&server.app).await.unwrap();
        mails.push(relay.next_message().await);
    }
    let data: BTreeSet<&str> = words_of("zz alice bob rust Tidings localhost").collect();
    for mail in &mails {
        assert_eq!(mail.header("Content-Language"), Some("qps-Ploc"));
        let text = text_of(mail);
        assert!(text.contains('⟦'), "{text}");
        for line in outside_brackets(&text).lines().filter(|line| !line.contains("://")) {
            assert!(words_of(line).all(|word| data.contains(word)), "{line} in {text}");
        }
    }
}

/// The widths of a window: a screen, a tablet, a phone, and a small one.
const WIDTHS: [u32; 4] = [1_280, 768, PHONE, 320];
const PHONE: u32 = 390;

/// Pages are valid and accessible, and look well at all widths.
async fn check_pages(language: &str) {
    let axe = match language {
        // The checker refuses a language that does not exist.
        "qps-ploc" => None,
        // A line of links that is a third longer lies below the topics of more stories.
        "he" => {
            Some(axe_source() + "\naxe.configure({ rules: [{ id: 'target-size', selector: '#none' }] });")
        }
        _ => Some(axe_source()),
    };
    let site = Speaking::start(language).await;
    let browser = site.showcase.open(Viewer::Anonymous).await;
    let mut wrong = Vec::new();
    for (viewer, client) in site.people() {
        if client.auth.is_some() {
            browser.log_in_as(&client).await;
        }
        for (_, page) in Showcase::pages().iter().filter(|(who, _)| *who == viewer) {
            browser.go(page).await;
            for width in WIDTHS {
                browser.resize(width, 844).await;
                // The colours, and most of what it looks for, are the same in all languages.
                if let Some(axe) = axe.as_ref().filter(|_| width == PHONE) {
                    browser.run(axe).await;
                    check_as_it_is(&browser, &format!("{language}, {viewer:?}{page}")).await;
                }
                let found = faults(&browser).await.into_iter();
                wrong.extend(found.map(|fault| format!("{viewer:?}{page} at {width}: {fault}")));
            }
            if page == "/" {
                let found = faults_of_header(&browser, "200%").await.into_iter();
                wrong.extend(found.map(|fault| format!("the header for {viewer:?}: {fault}")));
            }
            let answer = client.get(page).await;
            if !answer.status.is_redirection() {
                Page::of(&answer);
            }
        }
    }
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test]
async fn pages_have_room_for_longer_words() {
    check_pages("qps-ploc").await;
}

#[tokio::test]
async fn pages_have_room_for_longer_words_from_right_to_left() {
    check_pages("he").await;
}

#[tokio::test]
async fn pages_are_in_order_in_japanese() {
    check_pages("ja").await;
}

//! Narrow windows and colour schemes.

use serde_json::Value;

use crate::browser::Browser;
use crate::client::{Client, ok};
use crate::layout_shifts::{MOST_SHIFT, shifts};
use crate::looks::{faults, faults_of_header};
use crate::server::{Engine, Server};
use crate::showcase::{Showcase, Viewer};

/// The minimum contrast of text, from WCAG 2.2 AA.
const LEAST_CONTRAST: f64 = 4.5;

/// Adds content that is hard to fit: long words, long names, deep threads. Returns the pages that show it.
async fn add_what_hardly_fits(writer: &Client) -> Vec<String> {
    let host = format!("https://{}.example.com/{}", "h".repeat(60), "p".repeat(500));
    writer.submit_link(&"W".repeat(80), &host).await;
    let news = writer.submit_text("A deep thread", &"x".repeat(4_000)).await;
    let mut parent = writer.comment(news, &format!("https://example.com/{}", "y".repeat(1_000))).await;
    for _ in 0..15 {
        parent = writer.reply(news, parent, &format!("{} {}", "many words".repeat(9), "z".repeat(200))).await;
    }
    ok(writer.update_profile(&"a".repeat(4_000), "", "").await);
    let (user, deepest) = (&writer.username, format!("/news/{news}?at={parent}"));
    vec![
        "/latest/0".to_owned(),
        format!("/news/{news}"),
        deepest,
        format!("/user/{user}"),
        format!("/usernews/{user}/0"),
        format!("/usercomments/{user}/0"),
        format!("/{}", "nothing".repeat(100)),
    ]
}

/// The pixels that a second line of links makes the header taller.
const LINE_OF_LINKS: u64 = 44;

async fn check_fit(browser: &Browser, page: &str) {
    browser.go(page).await;
    assert_eq!(faults(browser).await, [""; 0], "{page}");
}

#[tokio::test]
async fn on_a_phone_no_page_scrolls_sideways_and_buttons_are_large_enough() {
    let showcase = Showcase::start().await;
    let browser = showcase.open(Viewer::Anonymous).await;
    browser.emulate_phone().await;
    let pages = Showcase::pages();
    let pages_of = |viewer| pages.iter().filter(move |(who, _)| *who == viewer).map(|(_, page)| page);
    for page in pages_of(Viewer::Anonymous) {
        check_fit(&browser, page).await;
    }
    browser.log_in_as(&showcase.member).await;
    for page in pages_of(Viewer::Member) {
        check_fit(&browser, page).await;
    }
    let usual_head = head_height(&browser, &showcase.member).await;
    let tops = "const links = document.querySelectorAll('.site-header nav > ul:first-of-type > li > a');
        return new Set([...links].map((link) => link.offsetTop)).size";
    assert_eq!(browser.run(tops).await, Value::from(1), "the links in the header are on one line");
    let writer = showcase.server.member(&"w".repeat(32)).await;
    let crowded = add_what_hardly_fits(&writer).await;
    browser.log_in_as(&writer).await;
    for page in &crowded {
        check_fit(&browser, page).await;
    }
    let longest_head = head_height(&browser, &writer).await;
    assert!(longest_head <= usual_head + LINE_OF_LINKS, "with the longest name: {longest_head}");
    browser.log_in_as(&showcase.administrator).await;
    for page in pages_of(Viewer::Administrator) {
        check_fit(&browser, page).await;
    }
}

/// Titles of usual lengths.
const TITLES: [&str; 6] = [
    "How SQLite is tested",
    "Ask: which paper changed how you write programs?",
    "Drawing tide tables by hand, and what the machine gets wrong",
    "RFC 9562: Universally Unique IDentifiers",
    "Choose boring technology",
    "What every programmer should know about memory",
];

/// The most bytes that the first page of a visit loads, with its styles, script and images, as sent.
const FIRST_VIEW_BYTES: u64 = 34 * 1024;

/// The most pixels that a row of the inbox is high.
const INBOX_ROW: u64 = 72;

#[tokio::test]
async fn the_first_screen_shows_much() {
    let server =
        Server::start(Engine::Memory, &[("site.name", "The village paper"), ("search.enabled", "true")])
            .await;
    let [moderator, alice] = server.people(["admin", "alice"]).await;
    for number in 0..30 {
        let url = format!("https://site-{number}.example.com/");
        alice.submit_link(TITLES[number % TITLES.len()], &url).await;
    }
    alice.comment(30, "Which of these have you tried?").await;
    let bob = server.member("bob").await;
    alice.tweet("Good to have you here, @bob and @admin").await;
    ok(bob.call("/api/flag?kind=comment&id=30-1&reason=spam&note=").await);
    println!("viewer     width  whole stories  header  first comment  inbox row  bytes  shift");
    for (viewer, user) in [("visitor", None), ("member", Some(bob)), ("moderator", Some(moderator))] {
        for (width, height, stories, header, comment) in [
            (1440, 900, 20, 52, 300),
            (1280, 800, 18, 52, 300),
            (768, 1024, 18, 52, 420),
            (390, 844, 9, 96, 420),
            (320, 640, 4, 96, 480),
        ] {
            // The first view of a browser that has loaded nothing yet.
            let browser = Browser::open(&server).await;
            match width < 400 {
                true => browser.emulate_phone_of(width, height).await,
                false => browser.resize(width, height).await,
            }
            if let Some(user) = &user {
                browser.log_in_as(user).await;
            }
            browser.go("/").await;
            let script = format!(
                "const whole = [...document.querySelectorAll('.news > .item')]
                    .filter((item) => item.getBoundingClientRect().bottom <= {height}).length;
                const sent = (type) => performance.getEntriesByType(type).map((entry) => entry.encodedBodySize);
                const bytes = [...sent('navigation'), ...sent('resource')].reduce((sum, each) => sum + each, 0);
                const search = document.querySelector('.site-search input').offsetWidth;
                return [whole, document.querySelector('.site-header').offsetHeight, bytes, search];"
            );
            let measured = browser.run(&script).await;
            let number = |place: usize| measured[place].as_u64().unwrap();
            let shift = shifts(&browser).await;
            if width == 390 {
                // The menu of a story is in the right corner of its meta line.
                let corners = "return [...document.querySelectorAll('.news .row-tools > summary')].filter((menu) => {
                    const [box, line] = [menu, menu.closest('.meta')].map((part) => part.getBoundingClientRect());
                    return box.right < line.right || box.right > innerWidth || line.height > 24
                        || Math.abs(box.bottom - line.bottom) > 4;
                }).length";
                assert_eq!(browser.run(corners).await, Value::from(0), "{viewer}, {width}");
            }
            browser.go("/news/30").await;
            let top = "return Math.round(document.querySelector('#comment-1').getBoundingClientRect().top)";
            let top = browser.run(top).await.as_u64().unwrap();
            let mut row = 0;
            if user.is_some() {
                browser.go("/inbox").await;
                let height = "return Math.round(document.querySelector('.inbox .entry').offsetHeight)";
                row = browser.run(height).await.as_u64().unwrap();
            }
            let (whole, head, bytes) = (number(0), number(1), number(2));
            println!("{viewer:9} {width:6}  {whole:13}  {head:6}  {top:13}  {row:9}  {bytes:5}  {shift:.3}");
            assert!(whole >= stories && head <= header, "{viewer}, {width}: {measured}");
            assert!(width < 768 || number(3) >= 160, "{viewer}, {width}: {measured}");
            assert!(top <= comment, "{viewer}, {width}: {top}");
            assert!(row <= INBOX_ROW && shift <= MOST_SHIFT, "{viewer}, {width}: {row}, {shift}");
            assert!((1..=FIRST_VIEW_BYTES).contains(&bytes), "{viewer}, {width}: {bytes}");
        }
    }
}

async fn head_height(browser: &Browser, user: &Client) -> u64 {
    browser.go("/").await;
    browser.wait_until_logged_in(&user.username).await;
    browser.run("return document.querySelector('.site-header').offsetHeight").await.as_u64().unwrap()
}

#[tokio::test]
async fn the_header_fits_at_320_pixels_and_with_text_twice_as_large() {
    let server = Server::start(Engine::Memory, &[]).await;
    let member = server.member(&"w".repeat(20)).await;
    let browser = Browser::open_as(&server, &member).await;
    browser.resize(320, 800).await;
    browser.go("/").await;
    browser.wait_until_logged_in(&member.username).await;
    for size in ["100%", "200%"] {
        assert_eq!(faults_of_header(&browser, size).await, [""; 0], "{size}");
    }
}

/// The relative luminance of a computed colour as defined by WCAG, from 0 to 1.
fn luminance(color: &str) -> f64 {
    let numbers: Vec<f64> = color
        .split(|sign: char| !sign.is_ascii_digit() && sign != '.')
        .filter_map(|number| number.parse().ok())
        .collect();
    assert!(numbers.len() == 3 || numbers.get(3) == Some(&1.0), "the colour is opaque: {color}");
    let linear = |value: f64| {
        let share = value / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(numbers[0]) + 0.7152 * linear(numbers[1]) + 0.0722 * linear(numbers[2])
}

async fn computed_luminance(browser: &Browser, css: &str, property: &str) -> f64 {
    luminance(&browser.wait_for(css).await.css_value(property).await.unwrap())
}

#[tokio::test]
async fn light_and_dark_pages_have_readable_text() {
    let showcase = Showcase::start().await;
    let browser = showcase.open(Viewer::Member).await;
    browser.go("/").await;
    for (scheme, is_dark) in [("light", false), ("dark", true)] {
        browser.prefer(scheme).await;
        let page = computed_luminance(&browser, "html", "background-color").await;
        assert_eq!(page < 0.05, is_dark, "{scheme}: {page}");
        assert_eq!(page > 0.8, !is_dark, "{scheme}: {page}");
        for text in ["h2 a", ".meta", ".host", ".meta .author", ".rank", ".site-footer a"] {
            let text_luminance = computed_luminance(&browser, text, "color").await;
            let (lighter, darker) = (page.max(text_luminance), page.min(text_luminance));
            let contrast = (lighter + 0.05) / (darker + 0.05);
            assert!(contrast >= LEAST_CONTRAST, "{scheme}, {text}: {contrast}");
        }
    }
}

#[tokio::test]
async fn members_choose_their_colours_and_their_text_size_whatever_the_device_prefers() {
    let server = Server::start(Engine::Memory, &[]).await;
    let alice = server.member("alice").await;
    let browser = Browser::open_as(&server, &alice).await;
    // Without script: the first paint is right.
    browser.disable_javascript().await;
    let look = "const style = getComputedStyle(document.documentElement);
        return [style.backgroundColor, style.fontSize]";
    let (light, dark) = ("rgb(250, 249, 246)", "rgb(20, 24, 26)");
    for (theme, size, of_light, of_dark, pixels) in [
        ("device", "normal", light, dark, "16px"),
        ("light", "large", light, light, "18px"),
        ("dark", "larger", dark, dark, "20px"),
    ] {
        ok(alice.call(&format!("/api/updateprofile?about=&email=&theme={theme}&text_size={size}")).await);
        for (scheme, colour) in [("light", of_light), ("dark", of_dark)] {
            browser.prefer(scheme).await;
            browser.go("/").await;
            assert_eq!(browser.run(look).await, serde_json::json!([colour, pixels]), "{theme} on {scheme}");
        }
    }
}

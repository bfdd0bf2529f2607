//! Functions that every request calls, or that go over everything on a page:
//! rules of ranking, the order of a thread, reading what people type, and the
//! pieces of pages.
//!
//! `cargo bench --bench functions`.

#![allow(clippy::unwrap_used)]

use divan::{Bencher, black_box};
use maud::Render;
use std::sync::LazyLock;
use tidings::config::Config;
use tidings_domain::accounts::reader::Perspective;
use tidings_domain::accounts::seen::ShownIn;
use tidings_domain::cache::{Caches, MEBIBYTE, Shared};
use tidings_domain::comments::outline::{ThreadLine, arrange};
use tidings_domain::identity::Identity;
use tidings_domain::news::lines::{NewsLine, NewsSummary};
use tidings_domain::news::listing::Marks;
use tidings_domain::sites::Score;
use tidings_domain::values::{Body, Hostname, NewsId, NewsUrl, RankingRules, Timestamp, Title, ranking};
use tidings_domain::{Comment, News};
use tidings_keyspace::Hash;
use tidings_testing::dataset::{self, Plan, Random, Size, words};
use tidings_web::features::comments::comment_item::{CommentContext, comment_item};
use tidings_web::features::stories::item::news_list;
use tidings_web::markup::autolink::autolink;
use tidings_web::markup::brand::Brand;
use tidings_web::markup::fragments::LinkTarget;
use tidings_web::markup::frame::Frame;
use tidings_web::request::local_path::LocalPath;

/// Items on a page.
const ITEMS: u64 = 30;
/// Lengths of comments: of most, of a long one.
const LENGTHS: [u64; 2] = [250, 1_200];

const NOW: Timestamp = Timestamp(1_800_000_000);

static SETTINGS: LazyLock<tidings_web::settings::Settings> = LazyLock::new(|| CONFIG.web_settings());
static CONFIG: LazyLock<Config> = LazyLock::new(|| Config::from_variables::<&str, &str>([]).unwrap());
static CACHES: LazyLock<Caches> = LazyLock::new(Caches::default);
static BRAND: LazyLock<Shared<Brand>> =
    LazyLock::new(|| Brand::new(&SETTINGS.site, &Default::default(), &Identity::default()).into());
static HERE: LazyLock<LocalPath> = LazyLock::new(|| LocalPath::parse("/"));
/// The comments of the long thread.
static THREAD: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let size = Size { long_thread: 500, ..Size::small() };
    dataset::comments::long_thread(&Plan::new(size, NOW))
});

fn main() {
    divan::main();
}

fn frame() -> Frame<'static> {
    Frame::new((&SETTINGS, &CONFIG.rules, &CACHES), BRAND.clone(), (NOW, &HERE), None)
}

fn comments() -> Vec<Comment> {
    THREAD
        .iter()
        .filter(|(id, _)| id != "nextid")
        .filter_map(|(id, json)| Comment::from_field(NewsId(7), id, json))
        .collect()
}

fn hash(fields: &[(&str, &str)]) -> Hash {
    Hash(fields.iter().map(|(field, value)| ((*field).to_owned(), (*value).to_owned())).collect())
}

fn line(number: u64) -> NewsLine {
    let mut random = Random::of("line", number);
    let title = words::title(&mut random);
    let url = format!("https://{}/some/story-{number}.html", dataset::host(number));
    let news = hash(&[
        ("id", &(number + 1).to_string()),
        ("title", &title),
        ("url", &url),
        ("user_id", "1"),
        ("ctime", "1799990000"),
        ("up", "12"),
        ("down", "1"),
        ("comments", "34"),
        ("rank", "0.1"),
    ]);
    let news = News::from_hash(&news).unwrap();
    let summary =
        NewsSummary { news: news.into(), username: Some("somebody".into()), site_score: Score::Good };
    NewsLine { summary: summary.into(), my_vote: None, marks: Marks::default(), new_comments: 0 }
}

#[divan::bench]
fn score_and_rank() -> f64 {
    let rules = RankingRules::default();
    let score = ranking::score(black_box(321), black_box(12), &rules);
    ranking::rank(score, black_box(Timestamp(NOW.0 - 40_000)), NOW, &rules)
}

#[divan::bench]
fn read_a_thread_of_500(bencher: Bencher) {
    LazyLock::force(&THREAD);
    bencher.bench(comments);
}

#[divan::bench]
fn arrange_a_thread_of_500(bencher: Bencher) {
    bencher.with_inputs(comments).bench_values(arrange);
}

#[divan::bench(args = LENGTHS)]
fn find_links(bencher: Bencher, length: u64) {
    let text = words::body(&mut Random::of("links", length), length);
    let text = format!("See https://www.example.org/a/page?with=parameters, and then: {text}");
    bencher.bench(|| autolink(black_box(&text), LinkTarget::Same));
}

#[divan::bench(args = LENGTHS)]
fn read_a_comment(bencher: Bencher, length: u64) {
    let text = words::body(&mut Random::of("typed", length), length);
    bencher.bench(|| Body::parse_comment(black_box(&text)).unwrap());
}

#[divan::bench]
fn read_a_title(bencher: Bencher) {
    let title = words::title(&mut Random::of("typed", 0));
    bencher.bench(|| Title::parse(black_box(&title)).unwrap());
}

#[divan::bench]
fn read_a_url() -> String {
    let url = "https://www.Example.org:443/2026/11/some-story.html?utm_source=feed&page=2#top";
    NewsUrl::parse(black_box(url)).unwrap().normalised()
}

#[divan::bench(args = ["www.example.org", "bücher.example"])]
fn read_a_hostname(name: &str) -> Hostname {
    Hostname::parse(name).unwrap()
}

tidings_domain::cache_kind! {
    /// News of which fragments may be cached.
    struct Summaries: u64 => NewsSummary, "news", MEBIBYTE, |_, _| 1_000;
}

#[divan::bench]
fn show_30_news(bencher: Bencher) {
    let lines: Vec<NewsLine> = (0..ITEMS).map(line).collect();
    bencher.bench(|| news_list(&frame(), black_box(&lines), 0).render());
}

#[divan::bench]
fn show_30_cached_news(bencher: Bencher) {
    let cache = CACHES.of::<Summaries>();
    let cached = |number| {
        let summary = NewsSummary::clone(&line(number).summary);
        cache.insert_derived(number, summary);
        NewsLine {
            summary: cache.derived(&number).unwrap(),
            my_vote: None,
            marks: Marks::default(),
            new_comments: 0,
        }
    };
    let lines: Vec<NewsLine> = (0..ITEMS).map(cached).collect();
    bencher.bench(|| news_list(&frame(), black_box(&lines), 0).render());
}

#[divan::bench(args = LENGTHS)]
fn show_a_comment(bencher: Bencher, length: u64) {
    let body = words::body(&mut Random::of("shown", length), length);
    let json = serde_json::json!({"body": body, "ctime": NOW.0, "user_id": 1, "parent_id": -1, "up": [1], "down": []});
    let comment = Comment::from_field(NewsId(7), "1", &json.to_string()).unwrap();
    let line = || ThreadLine { comment: &comment, depth: 2, username: Some("somebody") };
    let place = CommentContext { news: NewsId(1), news_deleted: false, is_open: true, among_others: false };
    bencher.with_inputs(line).bench_values(|line| {
        comment_item(&frame(), place, Perspective::default().view(black_box(line), ShownIn::List), line.depth)
            .render()
    });
}

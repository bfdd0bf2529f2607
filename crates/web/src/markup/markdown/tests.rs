//! Tests of which text becomes markup and which does not, and that nothing else can come out.

use super::checker::{check_links, check_markup};
use super::*;
use crate::markup::autolink::linked;
use proptest::prelude::*;
use tidings_domain::values::{MAX_SHOWN_TEXT_BYTES, size};

fn rendered(text: &str) -> String {
    let html = markdown(text, LinkTarget::Same).into_string();
    check_markup(text, &html);
    check_links(StoredText::Formatted(text), &html);
    html
}

/// A link as the writer makes it.
fn link(address: &str, text: &str) -> String {
    format!("<a href=\"{address}\" rel=\"nofollow ugc noopener\">{text}</a>")
}

#[test]
fn markup_becomes_html() {
    let a = link("http://a.com/", "a");
    for (text, html) in [
        ("", String::new()),
        ("one\ntwo\n\nthree", "<p>one<br>two</p><p>three</p>".to_owned()),
        (
            "*a* _b_ **c** __d__ ***e***",
            "<p><em>a</em> <em>b</em> <strong>c</strong> <strong>d</strong> <em><strong>e</strong></em></p>"
                .to_owned(),
        ),
        ("snake_case_name 2 * 3 * 4", "<p>snake_case_name 2 * 3 * 4</p>".to_owned()),
        ("`a <b> *c*`", "<p><code>a &lt;b&gt; *c*</code></p>".to_owned()),
        (
            "```rust\nfn a() {\n\n    b();\n}\n```",
            "<pre><code>fn a() {\n\n    b();\n}\n</code></pre>".to_owned(),
        ),
        ("    one\n    two", "<pre><code>one\ntwo</code></pre>".to_owned()),
        ("> a\n> b\n\nc", "<blockquote><p>a<br>b</p></blockquote><p>c</p>".to_owned()),
        ("> > a\n>\n> b", "<blockquote><blockquote><p>a</p></blockquote><p>b</p></blockquote>".to_owned()),
        ("- a\n- b\n  - c", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>".to_owned()),
        ("* a\n\n  b", "<ul><li><p>a</p><p>b</p></li></ul>".to_owned()),
        ("1. a\n2. b", "<ol><li>a</li><li>b</li></ol>".to_owned()),
        ("1986. A good year", "<ol start=\"1986\"><li>A good year</li></ol>".to_owned()),
        ("[a](http://a.com/)", format!("<p>{a}</p>")),
        ("[*a*](http://a.com/ \"A title\")", format!("<p>{}</p>", link("http://a.com/", "<em>a</em>"))),
        ("[a](<http://a.com/b c>)", format!("<p>{}</p>", link("http://a.com/b%20c", "a"))),
        ("[a](www.a.com)", format!("<p>{}</p>", link("http://www.a.com", "a"))),
        (
            "[a](mailto:b@c.com) <b@c.com>",
            format!("<p>{} {}</p>", link("mailto:b@c.com", "a"), link("mailto:b@c.com", "b@c.com")),
        ),
        ("[](http://a.com/)", format!("<p>{}</p>", link("http://a.com/", "http://a.com/"))),
        ("[\u{200B} ](http://a.com/)", format!("<p>{}</p>", link("http://a.com/", "\u{200B} http://a.com/"))),
        ("<http://a.com/_b_>", format!("<p>{}</p>", link("http://a.com/_b_", "http://a.com/_b_"))),
        ("a  b\\\nc  \nd", "<p>a  b<br>c<br>d</p>".to_owned()),
        ("\\*a\\* \\`b", "<p>*a* `b</p>".to_owned()),
    ] {
        assert_eq!(rendered(text), html, "{text:?}");
    }
}

#[test]
fn everything_else_is_shown_as_it_was_typed() {
    for (text, html) in [
        ("# A title #", "<p># A title #</p>"),
        ("###### a\n## b*c*", "<p>###### a</p><p>## b<em>c</em></p>"),
        ("#", "<p>#</p>"),
        ("# a#", "<p># a#</p>"),
        ("Hello\n---\nBob\n===", "<p>Hello<br>---</p><p>Bob<br>===</p>"),
        ("> a\n> -", "<blockquote><p>a<br>-</p></blockquote>"),
        ("a\n\n***\n\n- - -", "<p>a</p><p>***</p><p>- - -</p>"),
        ("| a | b |\n|---|---|\n| c | d |", "<p>| a | b |<br>|---|---|<br>| c | d |</p>"),
        ("a[^1]\n\n[^1]: b", "<p>a[^1]</p><p>[^1]: b</p>"),
        ("~~a~~ - [ ] b", "<p>~~a~~ - [ ] b</p>"),
        (
            "&lt;b&gt; &amp; &#60; &quot &copy;",
            "<p>&amp;lt;b&amp;gt; &amp;amp; &amp;#60; &amp;quot &amp;copy;</p>",
        ),
        ("a <b>c</b> d", "<p>a &lt;b&gt;c&lt;/b&gt; d</p>"),
        ("<div>\n*a*\n</div>\n\nb", "<p>&lt;div&gt;<br>*a*<br>&lt;/div&gt;</p><p>b</p>"),
        ("[a](/news/1) [b](#c) [d]()", "<p>[a](/news/1) [b](#c) [d]()</p>"),
        ("[a](ftp://a.com/ \"t\")!", "<p>[a](ftp://a.com/ &quot;t&quot;)!</p>"),
        ("[*a*](data:b)", "<p>[<em>a</em>](data:b)</p>"),
    ] {
        assert_eq!(rendered(text), html, "{text:?}");
    }
}

#[test]
fn images_are_links_with_their_description() {
    for (text, html) in [
        ("![A cat](http://a.com/cat.png)", link("http://a.com/cat.png", "A cat")),
        ("![](http://a.com/)", link("http://a.com/", "http://a.com/")),
        ("![a](data:image/png;base64,AA)", "![a](data:image/png;base64,AA)".to_owned()),
        ("[![A cat](http://a.com/1)](http://b.com/)", link("http://b.com/", "A cat")),
        ("![a [b](http://b.com/)](http://a.com/)", link("http://a.com/", "a b")),
    ] {
        assert_eq!(rendered(text), format!("<p>{html}</p>"), "{text:?}");
    }
}

#[test]
fn bare_addresses_are_links_as_they_always_were() {
    let same = |address: &str| link(address, address);
    for (text, html) in [
        ("http://a.com/_b_*c*_d", same("http://a.com/_b_*c*_d")),
        ("(see http://a.com/b_(c)).", format!("(see {}).", same("http://a.com/b_(c)"))),
        ("www.a.com/_x_", link("http://www.a.com/_x_", "www.a.com/_x_")),
        (
            "*http://a.com/b_c* **http://a.com/**",
            format!("<em>{}</em> <strong>{}</strong>", same("http://a.com/b_c"), same("http://a.com/")),
        ),
        ("_see http://a.com/_", format!("<em>see {}</em>", same("http://a.com/"))),
        ("http://a.com/b_", same("http://a.com/b_")),
        (
            "`http://a.com/_b_` http://a.com/_b_",
            format!("<code>http://a.com/_b_</code> {}", same("http://a.com/_b_")),
        ),
        (
            "[1]: http://a.com/\n[1]: http://b.com/",
            format!("[1]: {}<br>[1]: {}", same("http://a.com/"), same("http://b.com/")),
        ),
        ("[a][1]\n\n[1]: b 'c'", "[a][1]</p><p>[1]: b 'c'".to_owned()),
        ("[http://a.com/](http://b.com/)", link("http://b.com/", "http://a.com/")),
        ("<b>http://a.com/</b>", format!("&lt;b&gt;{}&lt;/b&gt;", same("http://a.com/"))),
        ("<a href=\"http://a.com/\">", format!("&lt;a href=&quot;{}&quot;&gt;", same("http://a.com/"))),
        (
            "http://a.com/?a=1&b=\"",
            format!("{}&quot;", link("http://a.com/?a=1&amp;b=", "http://a.com/?a=1&amp;b=")),
        ),
        ("[http://[::1]:80/]: x", format!("[{}]: x", same("http://[::1]:80/"))),
        (
            "https://a.com#b https://例子.中国/x",
            format!("{} {}", same("https://a.com#b"), same("https://例子.中国/x")),
        ),
        ("「http://a.com/b」と。", format!("「{}」と。", same("http://a.com/b"))),
        // Between `<` and `>` all is address.
        (
            "<http://a.com/b.> <http://a.com/_b_,>",
            format!("{} {}", same("http://a.com/b."), same("http://a.com/_b_,")),
        ),
        (
            "`<http://a.com/b.>` \\<http://a.com/b.>",
            format!("<code>&lt;http://a.com/b.&gt;</code> &lt;{}.&gt;", same("http://a.com/b")),
        ),
        // A backslash makes punctuation ordinary, in addresses too.
        (
            "http://a.com/b\\_c \\http://a.com/",
            format!("{} \\{}", same("http://a.com/b_c"), same("http://a.com/")),
        ),
        ("`http://a.com/b\\_c`", "<code>http://a.com/b\\_c</code>".to_owned()),
        ("[a](http://a.com/b\\(c\\))", link("http://a.com/b(c)", "a")),
        ("[a](http://a.com/b\\)c \"t\")", link("http://a.com/b)c", "a")),
        ("[http://a.com/\\[b\\]](http://b.com/)", link("http://b.com/", "http://a.com/[b]")),
        ("a](http://a.com/_b_) c", format!("a]({}) c", same("http://a.com/_b_"))),
    ] {
        assert_eq!(rendered(text), format!("<p>{html}</p>"), "{text:?}");
    }
}

#[test]
fn names_of_users_are_links_to_them() {
    let bob = "<a href=\"/@bob\">@bob</a>";
    for (text, html) in [
        ("@bob, (@bob)!", format!("{bob}, ({bob})!")),
        ("*@bob* @a_b_c", format!("<em>{bob}</em> <a href=\"/@a_b_c\">@a_b_c</a>")),
        ("mail@bob `@bob` @b\\@c", "mail@bob <code>@bob</code> @b@c".to_owned()),
        ("[ask @bob](http://a.com/@bob)", link("http://a.com/@bob", "ask @bob")),
        (
            "@bob@example.org https://a.com/@bob",
            format!("@bob@example.org {}", link("https://a.com/@bob", "https://a.com/@bob")),
        ),
    ] {
        assert_eq!(rendered(text), format!("<p>{html}</p>"), "{text:?}");
    }
    let elsewhere = markdown_at("https://example.com", "@bob", LinkTarget::Same).into_string();
    assert_eq!(elsewhere, "<p><a href=\"https://example.com/@bob\">@bob</a></p>");
}

#[test]
fn links_open_new_windows_for_those_who_want_that() {
    let html = markdown("<http://a.com/> @bob", LinkTarget::NewWindow).into_string();
    let link = r#"<a href="http://a.com/" rel="nofollow ugc noopener" target="_blank">http://a.com/</a>"#;
    assert_eq!(html, format!("<p>{link} <a href=\"/@bob\">@bob</a></p>"));
}

/// Texts that tried to get markup, scripts or addresses of their own out of some program.
const HOSTILE: [&str; 62] = [
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](java\tscript:alert(1))",
    "[a](java\nscript:alert(1))",
    "[a](<java\u{AD}script:alert(1)>)",
    "[a]( javascript:alert(1))",
    "[a](<javascript:alert(1)>)",
    "[a](\u{1}javascript:alert(1))",
    "[a](javascript&colon;alert(1))",
    "[a](&#106;avascript:alert(1))",
    "[a](&#x6A;&#x61;vascript&#58;alert(1))",
    "[a](javascript\\:alert(1))",
    "[a](javascript://example.com/%0aalert(1))",
    "[a](vbscript:msgbox(1))",
    "[a](data:text/html,<script>alert(1)</script>)",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "[a](blob:http://example.com/1)",
    "[a](view-source:http://example.com/)",
    "[a](file:///etc/passwd)",
    "[a](//evil.example/)",
    "[a](/\\evil.example/)",
    "[a](http:evil.example)",
    "[a](http:///evil.example)",
    "[a](http://)",
    "[a](https://\"onmouseover=alert(1))",
    "[a](http://a.com/\"onmouseover=\"alert(1))",
    "[a](http://a.com/ \"onmouseover=alert(1)\")",
    "[a](http://a.com/ '\"><script>alert(1)</script>')",
    "[a](<http://a.com/\"><script>alert(1)</script>>)",
    "[a](mailto:javascript:alert(1))",
    "[a](mailto:a@b.com\"onclick=\"alert(1))",
    "[\"><script>alert(1)</script>](http://a.com/)",
    "[a]: javascript:alert(1)\n\n[a]",
    "[a]: http://a.com/ \"><script>\"\n\n[a][a] ![a]",
    "<javascript:alert(1)>",
    "<JAVASCRIPT://a.com/%0aalert(1)>",
    "<http://a.com/\"onclick=\"alert(1)>",
    "<http://a.com/'><script>alert(1)</script>",
    "<a@b.com\"onclick=alert(1)>",
    "<script>alert(1)</script>",
    "<ScRiPt\n>alert(1)</sCrIpT>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<a href=\"javascript:alert(1)\">a</a>",
    "<!-- --><script>alert(1)</script> -->",
    "<!--><img src=x onerror=alert(1)>",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?php echo 1 ?><!DOCTYPE html>",
    "</p></div></main><h1>a</h1>",
    "<style>*{display:none}</style>",
    "![a](javascript:alert(1))",
    "![\" onerror=\"alert(1)](http://a.com/)",
    "![a](http://a.com/\" onerror=\"alert(1))",
    "![<script>](<http://a.com/<script>>)",
    "```\n<script>alert(1)</script>",
    "```<script>\"onload=alert(1)\n</code></pre><script>",
    "`</code><script>alert(1)</script>`",
    "    </code></pre><script>alert(1)</script>",
    "\u{202E}gpj.exe [\u{202E}moc.a](http://a.com/)",
    "\u{0}<scr\u{0}ipt>\u{8}\u{1B}[31m\u{FFFE}0\u{FFFF}\u{FFFE}",
    "<placeholder 0> &#60;script&#62; &lt;script&gt;",
    "http://a.com/\"><script>alert(1)</script> www.a.com\"onclick=\"alert(1)",
];

#[test]
fn hostile_texts_are_only_text() {
    for text in HOSTILE {
        for quoted in [
            text.to_owned(),
            format!("> - {text}"),
            format!("**{text}**"),
            format!("[{text}](http://b.com/)"),
        ] {
            let html = rendered(&quoted).to_lowercase();
            let bad = "<script <img <svg href=\"java href=\"data href=\"/ onerror=\" onclick=\"";
            for bad in bad.split(' ') {
                assert!(!html.contains(bad), "{bad} in {html} of {quoted:?}");
            }
        }
    }
}

/// Texts that take the most time or space in some program, as long as a text is shown.
fn heavy() -> Vec<String> {
    let long = |part: &str| part.repeat(MAX_SHOWN_TEXT_BYTES / part.len());
    let half = |part: &str| part.repeat(MAX_SHOWN_TEXT_BYTES / part.len() / 2);
    let parts = "[|]|![|[]|](|[](|[a](|[a](http://a.b)|![](http://a.b)|(|<|<a@b>|<http://a.b>|>|> |>\n|- |-\n|\
        -\n\n+\n\n|1. |1.\n2)\n|*|**|* |*a_ |_a|*a **b |`|`a``b|a`b\\|```\n|~~~\n\n|\\|&|&amp;|&#1;|\"|\n|\
        a\n|\t|#\n|a\n=\n|a\n\n-\n|<!--|<?|<!A|<![CDATA[|<a |<a b=\"|<p>\n\n|@ab |@|http://a.b |www.a.b |\
        http://a.b_|_http://a.b|[a]:b\n|[a]: http://a.b\n\n|]:|[a|\u{FFFE}|🦀|    a\n\n|- a\n\n      b\n";
    let mut texts: Vec<String> = parts.split('|').map(long).collect();
    texts.extend(
        [
            ("[", "]"),
            ("*", "a*"),
            ("> ", "\na"),
            ("- ", "\na"),
            ("<", ">"),
            ("(", ")"),
            ("![a", "](b)"),
            ("[a](", ")"),
        ]
        .map(|(before, after)| half(before) + &half(after)),
    );
    texts.push("[".repeat(10_000));
    texts
}

#[test]
fn heavy_texts_stay_within_their_bound() {
    for text in heavy() {
        rendered(&text);
        // A text that people can type has its markup, unless that would be far too much.
        rendered(text.get(..text.floor_char_boundary(4_096)).unwrap());
        rendered(text.get(..text.floor_char_boundary(700)).unwrap());
    }
}

#[test]
fn deep_quotes_and_lists_are_flat_below_eight_levels() {
    let levels = |html: &str, tag: &str| html.matches(tag).count();
    for depth in [8, 9, 40] {
        let quotes = rendered(&format!("{}a", "> ".repeat(depth)));
        assert_eq!(levels(&quotes, "<blockquote>"), 8);
        let lists = rendered(&format!("{}a", "- ".repeat(depth)));
        assert_eq!((levels(&lists, "<ul>"), levels(&lists, "<li>")), (8, 8), "{lists}");
        let mixed = rendered(&format!("{}a", "> 2. ".repeat(depth)));
        assert_eq!(levels(&mixed, "<blockquote>") + levels(&mixed, "<ol"), 8, "{mixed}");
        let emphasis = rendered(&format!("{}b{}", "*a ".repeat(depth), " c*".repeat(depth)));
        assert_eq!(levels(&emphasis, "<em>"), 8, "{emphasis}");
    }
}

#[test]
fn a_long_text_is_shown_whole_or_ends_with_a_mark() {
    for (text, is_whole) in
        [("a word ".repeat(9_000), true), ("a word ".repeat(10_000), false), (">".repeat(20_000), false)]
    {
        let html = rendered(&text);
        assert_eq!(html.ends_with(CUT), !is_whole, "{} bytes", text.len());
        assert!(!is_whole || html.contains(text.trim_end()));
    }
}

#[test]
fn a_text_with_too_much_markup_is_shown_as_it_was_typed() {
    let text = "> *a*\n".repeat(2_700);
    assert!(!size::is_marked(size::shown(&text)));
    let html = rendered(&text);
    assert!(html.starts_with("<p>&gt; *a*<br>&gt; *a*<br>"), "{}", &html[..40]);
}

/// Parts of texts that mean something, with `|` between them.
const PARTS: &str = "\
    http://a.com/|www.b.c|https\\://|http:\\\\|%73|\\(|\\)|<http://d.e/|例子.中国|。|](|[|]|![|](http://a.b)|\
    <http://|<a@b>|@bob|*|_|**|`|``|\n|\n\n|\n```\n|\n    |\n> |\n- |\n  - |\n1. |\n7) |\n# |\n---\n|\
    \n===\n|\n[a]: |]:|<b>|</b>|<!--|-->|\\|&amp;|&#60;|\t|\u{FFFE}|🦀";

fn hostile() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[a-z ]{0,5}",
        prop::sample::select(HOSTILE.to_vec()).prop_map(str::to_owned),
        prop::sample::select(PARTS.split('|').collect::<Vec<_>>()).prop_map(str::to_owned),
        "[\"'<>&().,;:/@#?\\[\\]=*_`~\\-+|{}!$%^0-9\\n\\\\]{1,4}",
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn only_allowed_markup_comes_out(text in hostile()) {
        for links in [LinkTarget::Same, LinkTarget::NewWindow] {
            let html = markdown(&text, links).into_string();
            check_markup(&text, &html);
            check_links(StoredText::Formatted(&text), &html);
        }
        for written in [StoredText::Post(&text), StoredText::Plain(&text)] {
            let html = linked(written, LinkTarget::Same, |name| Some(format!("/@{name}")));
            check_links(written, &html.into_string());
        }
    }

    #[test]
    fn no_letter_of_plain_text_is_lost(text in "[a-z\\[\\]:<>@#=.)(!|\\-+0-9 \n]{0,60}") {
        let html = rendered(&text).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        let shown: Vec<char> = html.chars().filter(char::is_ascii_lowercase).collect();
        let mut letters = shown.iter();
        // They come out in their order, among those of tags.
        for letter in text.chars().filter(char::is_ascii_lowercase) {
            prop_assert!(letters.any(|shown| *shown == letter), "{:?} {}", text, html);
        }
    }
}

//! A site with life in it: news and comments of different ages, votes, an
//! unread reply, a deleted comment. For looking at pages, by people and programs.

use crate::browser::Browser;
use crate::client::{Client, ok};
use crate::server::{Engine, Server};

const MINUTE: u64 = 60;

/// Who looks at a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Viewer {
    /// Nobody is logged in.
    Anonymous,
    /// Wrote some of the news and comments.
    Member,
    /// Owns the site.
    Administrator,
}

/// The site and two of its users.
pub struct Showcase {
    pub server: Server,
    pub member: Client,
    pub administrator: Client,
}

/// A submission, by the position of its author.
struct Story {
    minutes_ago: u64,
    author: usize,
    title: &'static str,
    /// A URL, or else a text.
    content: &'static str,
    up: usize,
    down: usize,
    comments: &'static [&'static str],
}

const AUTHORS: [&str; 8] = ["marta", "tidekeeper", "jun", "o_brien", "leila", "pavel-k", "sunniva", "tomasz"];

/// From the oldest to the newest.
const STORIES: [Story; 13] = [
    Story {
        minutes_ago: 31 * 60,
        author: 0,
        title: "What every programmer should know about memory",
        content: "https://lwn.net/Articles/250967/",
        up: 48,
        down: 1,
        comments: &["Still the best hundred pages on the subject.", "Part 2 is the one to start with."],
    },
    Story {
        minutes_ago: 22 * 60,
        author: 5,
        title: "Choose Boring Technology",
        content: "https://boringtechnology.club/",
        up: 41,
        down: 3,
        comments: &["We printed slide 40.", "Boring is relative.", "And what when everything is boring?"],
    },
    Story {
        minutes_ago: 15 * 60,
        author: 1,
        title: "Drawing tide tables by hand, and what the machine gets wrong",
        content: "https://harbour.example.org/notes/tide-tables",
        up: 33,
        down: 0,
        comments: &["Lovely photographs of the old predictor."],
    },
    Story {
        minutes_ago: 12 * 60,
        author: 6,
        title: "A weather station on a ten-euro board, with two years of logs",
        content: "https://garden.example.net/weather",
        up: 19,
        down: 2,
        comments: &[],
    },
    Story {
        minutes_ago: 9 * 60,
        author: 3,
        title: "The Internet Archive's book scanners",
        content: "https://archive.org/details/texts",
        up: 27,
        down: 1,
        comments: &["They still turn each page by hand.", "For a good reason, says the FAQ."],
    },
    Story {
        minutes_ago: 7 * 60,
        author: 4,
        title: "RFC 9562: Universally Unique IDentifiers (UUIDs)",
        content: "https://www.rfc-editor.org/rfc/rfc9562",
        up: 14,
        down: 0,
        comments: &["Version 7 at last."],
    },
    Story {
        minutes_ago: 6 * 60,
        author: 0,
        title: "How SQLite is tested",
        content: "https://www.sqlite.org/testing.html",
        up: 44,
        down: 0,
        comments: &["590 times as much test code as code.", "The section on I/O errors is worth stealing."],
    },
    Story {
        minutes_ago: 5 * 60,
        author: 7,
        title: "Why our village runs its own fibre",
        content: "https://vannes.example.com/fibre",
        up: 22,
        down: 1,
        comments: &["Who repairs it at two in the morning?"],
    },
    Story {
        minutes_ago: 3 * 60 + 40,
        author: 2,
        title: "Ask: which paper changed how you write programs?",
        content: "One per person, please, with a sentence on what you do differently since. I will put them in \
                  order and post the list next week.\n\nMine is the one about making illegal states \
                  unrepresentable: I delete more checks than I write.",
        up: 31,
        down: 0,
        comments: &[],
    },
    Story {
        minutes_ago: 2 * 60 + 10,
        author: 6,
        title: "OpenStreetMap for beginners: add the bench in your street",
        content: "https://wiki.openstreetmap.org/wiki/Beginners%27_guide",
        up: 12,
        down: 0,
        comments: &["Done. It took four minutes."],
    },
    Story {
        minutes_ago: 75,
        author: 4,
        title: "A type specimen from 1923, photographed page by page",
        content: "https://letters.example.org/specimen-1923",
        up: 9,
        down: 0,
        comments: &[],
    },
    Story {
        minutes_ago: 38,
        author: 5,
        title: "The unreasonable effectiveness of a plain text log",
        content: "https://pavel.example.net/plain-text-log",
        up: 11,
        down: 1,
        comments: &["grep is the best dashboard I ever had."],
    },
    Story {
        minutes_ago: 9,
        author: 2,
        title: "Public libraries are lending bicycles now",
        content: "https://citynews.example.com/library-bicycles",
        up: 4,
        down: 0,
        comments: &[],
    },
];

/// The item whose thread is worth looking at, by its position.
const DISCUSSED: usize = 8;

/// Its comments: the author, the comment that is answered, the text.
const DISCUSSION: [(usize, Option<u64>, &str); 11] = [
    (
        4,
        None,
        "\"Programming as theory building\". I stopped handing over code and started handing over people.",
    ),
    (5, Some(1), "This one. The document is never the program."),
    (4, Some(2), "And a rewrite is a way to get the theory back, at a price."),
    (2, Some(3), "How do you explain that price to those who pay it?"),
    (
        7,
        Some(4),
        "You do not. You let them sit beside you for an afternoon, and after that they ask for it themselves. \
         At least it went so here, twice.",
    ),
    (1, Some(1), "Is there a copy that is not behind a login?"),
    (
        0,
        None,
        "The end-to-end argument: https://web.mit.edu/Saltzer/www/publications/endtoend/endtoend.pdf (1984!)\n\nSince then I put the check where it counts and leave it out everywhere else.",
    ),
    (3, Some(7), "Seconded."),
    (6, None, "I had something here about formal methods."),
    (2, Some(9), "I would like to read the longer version of this."),
    (7, None, "None. A colleague's code review did."),
];

/// The comment of the discussion that its author deletes.
const DELETED: usize = 9;

impl Showcase {
    /// Starts the site. Mail is on, so that every form is there.
    pub async fn start() -> Self {
        let settings = [
            ("web.gravatars", "false"),
            ("mail.relay", "127.0.0.1:9"),
            ("karma.upvote_cost", "0"),
            ("karma.upvote_transfer", "0"),
            ("karma.downvote_cost", "0"),
            ("karma.downvote_minimum", "0"),
        ];
        let server = Server::start(Engine::Memory, &settings).await;
        let administrator = server.register("harbourmaster").await;
        let opened = server.now();
        let mut authors = Vec::new();
        for name in AUTHORS {
            authors.push(server.member(name).await);
        }
        let voters = server.members(48).await;
        let [older @ .., newest] = &STORIES;
        for story in older {
            submit(&server, &authors, opened, story).await;
        }
        discuss(&server, &authors).await;
        submit(&server, &authors, opened, newest).await;
        server.advance(opened + STORIES[0].minutes_ago * MINUTE - server.now());
        vote(&authors, &voters).await;
        let member = authors[2].clone();
        server.set_karma(&member, 217).await;
        let about = "Systems programmer in Sapporo. I write about files at https://jun.example.org/";
        ok(member.update_profile(about, "jun@example.org", "").await);
        Self { server, member, administrator }
    }

    /// The pages among [`Showcase::pages`] that tell of an error.
    pub fn is_refused(viewer: Viewer, page: &str) -> bool {
        let old_news = format!("/delnews/{}", DISCUSSED + 1);
        page == "/nothing-here" || viewer == Viewer::Member && (page == "/admin" || page == old_news)
    }

    /// Every family of pages, and who looks at it.
    pub fn pages() -> Vec<(Viewer, String)> {
        use Viewer::{Administrator, Anonymous, Member};
        let thread = DISCUSSED + 1;
        let pages = [
            (Anonymous, "/"),
            (Anonymous, "/latest/0"),
            (Anonymous, "/news/THREAD"),
            (Anonymous, "/comment/THREAD/1"),
            (Anonymous, "/login"),
            (Anonymous, "/register"),
            (Anonymous, "/reset-password"),
            (Anonymous, "/user/jun"),
            (Anonymous, "/usernews/jun/0"),
            (Anonymous, "/usercomments/jun/0"),
            (Anonymous, "/ranking"),
            (Anonymous, "/about"),
            (Anonymous, "/nothing-here"),
            (Member, "/"),
            (Member, "/latest/0"),
            (Member, "/news/THREAD"),
            (Member, "/submit"),
            (Member, "/editnews/NEWEST"),
            (Member, "/delnews/NEWEST"),
            (Member, "/reply/THREAD/1"),
            (Member, "/editcomment/THREAD/4"),
            (Member, "/replies"),
            (Member, "/saved/0"),
            (Member, "/user/jun"),
            (Member, "/user/marta"),
            (Member, "/logout"),
            (Member, "/delnews/THREAD"),
            (Member, "/admin"),
            (Administrator, "/"),
            (Administrator, "/admin"),
            (Administrator, "/editcomment/THREAD/1"),
        ];
        pages
            .map(|(viewer, page)| {
                let page = page.replace("THREAD", &thread.to_string());
                (viewer, page.replace("NEWEST", &STORIES.len().to_string()))
            })
            .to_vec()
    }

    /// A browser in which a viewer has the site open.
    pub async fn open(&self, viewer: Viewer) -> Browser {
        let browser = Browser::open(&self.server).await;
        match viewer {
            Viewer::Anonymous => {}
            Viewer::Member => browser.become_user(&self.member).await,
            Viewer::Administrator => browser.become_user(&self.administrator).await,
        }
        browser
    }
}

/// Submits a story at its time, on a site that was opened with the oldest.
async fn submit(server: &Server, authors: &[Client], opened: u64, story: &Story) {
    let time = opened + (STORIES[0].minutes_ago - story.minutes_ago) * MINUTE;
    server.advance(time - server.now());
    let author = &authors[story.author];
    let news = if story.content.starts_with("https://") {
        author.submit_link(story.title, story.content).await
    } else {
        author.submit_text(story.title, story.content).await
    };
    for (position, text) in story.comments.iter().enumerate() {
        authors[(story.author + position + 1) % authors.len()].comment(news, text).await;
    }
}

/// The discussion takes a while; the first comments are as old as that.
async fn discuss(server: &Server, authors: &[Client]) {
    let news = DISCUSSED as u64 + 1;
    let write = async |author: usize, parent: Option<u64>, text: &str| match parent {
        Some(parent) => authors[author].reply(news, parent, text).await,
        None => authors[author].comment(news, text).await,
    };
    for (author, parent, text) in DISCUSSION {
        write(author, parent, text).await;
        server.advance(2 * MINUTE);
    }
    let author = DISCUSSION[DELETED - 1].0;
    ok(authors[author].edit_comment(news, DELETED as u64, "").await);
    for (voter, comment) in [(0, 1), (1, 1), (5, 1), (3, 7), (1, 7), (6, 3), (7, 3), (0, 5), (5, 8), (4, 11)]
    {
        let direction = if comment == 11 { "down" } else { "up" };
        ok(authors[voter].vote_comment(news, comment, direction).await);
    }
}

async fn vote(authors: &[Client], voters: &[Client]) {
    for (position, story) in STORIES.iter().enumerate() {
        let news = position as u64 + 1;
        for voter in &voters[..story.up - 1] {
            ok(voter.vote(news, "up").await);
        }
        for voter in voters.iter().rev().take(story.down) {
            voter.vote(news, "down").await;
        }
    }
    // The member has read some of it.
    for news in [7, 10] {
        ok(authors[2].vote(news, "up").await);
    }
}

//! A site with sample content: stories and comments of different ages, votes, an
//! unread reply, a deleted comment. For checks and screenshots of pages.

use sha2::{Digest, Sha256};
use tidings_domain::sites::{self, SiteVote, Verdict};
use tidings_domain::values::{Hostname, Timestamp, VoterId};

use crate::browser::Browser;
use crate::client::{Client, ok};
use crate::server::{Batch, Engine, Server};

const MINUTE: u64 = 60;

/// The viewer of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Viewer {
    /// Nobody is logged in.
    Anonymous,
    /// The author of some of the stories and comments.
    Member,
    /// A moderator. The showcase has none.
    Moderator,
    /// The owner of the site.
    Administrator,
}

/// The site and two of its users.
pub struct Showcase {
    pub server: Server,
    pub member: Client,
    pub administrator: Client,
}

/// A story to submit.
struct Story {
    minutes_ago: u64,
    /// An index into `AUTHORS`.
    author: usize,
    title: &'static str,
    topics: &'static str,
    /// A URL or a text.
    content: &'static str,
    up: usize,
    down: usize,
    comments: Vec<&'static str>,
}

/// The stories, from the oldest to the newest.
fn stories() -> Vec<Story> {
    let story = |text: &'static str| {
        let parts: Vec<&str> = text.split(" | ").collect();
        let [numbers, title, topics, content, ref comments @ ..] = parts[..] else { panic!("{text}") };
        let numbers: Vec<usize> = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
        let [minutes_ago, author, up, down] = numbers[..] else { panic!("{text}") };
        let (minutes_ago, comments) = (minutes_ago as u64, comments.to_vec());
        Story { minutes_ago, author, title, topics, content, up, down, comments }
    };
    STORIES.into_iter().map(story).collect()
}

const AUTHORS: [&str; 8] = ["marta", "tidekeeper", "jun", "o_brien", "leila", "pavel-k", "sunniva", "tomasz"];

/// The token of links of the member: to set the password, to confirm the address, to invite.
const RESET_TOKEN: &str = "0123456789abcdef0123456789abcdef01234567";

/// The member, as an index into `AUTHORS`.
const MEMBER: usize = 2;

/// From the oldest to the newest: how many minutes ago, the author, the votes up and down | the title | the topics | a URL
/// or a text | the comments.
const STORIES: [&str; 13] = [
    "1860 0 48 1 | What every programmer should know about memory | hardware,programming | \
     https://lwn.net/Articles/250967/ | Still the best hundred pages on the subject. | Part 2 is the one \
     to start with.",
    "1320 5 41 3 | Choose Boring Technology | practice | https://boringtechnology.club/ | We printed \
     slide 40. | Boring is relative. | And what when everything is boring?",
    "900 1 33 0 | Drawing tide tables by hand, and what the machine gets wrong | maps,making | \
     https://harbour.example.org/notes/tide-tables | Lovely photographs of the old predictor.",
    "720 6 19 2 | A weather station on a ten-euro board, with two years of logs | hardware,making | \
     https://garden.example.net/weather",
    "540 3 27 1 | The Internet Archive's book scanners | archives,books | \
     https://archive.org/details/texts | They still turn each page by hand. | For a good reason, says \
     the FAQ.",
    "420 4 14 0 | RFC 9562: Universally Unique IDentifiers (UUIDs) | internet,programming | \
     https://www.rfc-editor.org/rfc/rfc9562 | Version 7 at last.",
    "360 0 44 0 | How SQLite is tested | databases,programming,testing | \
     https://www.sqlite.org/testing.html | 590 times as much test code as code. | The section on I/O \
     errors is worth stealing.",
    "300 7 22 1 | Why our village runs its own fibre | internet | https://vannes.example.com/fibre | Who \
     repairs it at two in the morning?",
    "220 2 31 0 | Ask: which paper changed how you write programs? | books,programming | One per person, \
     please, with a sentence on what you do differently since. I will put them in order and post the \
     list next week.\n\nMine is the one about making illegal states unrepresentable: I delete more \
     checks than I write.",
    "130 6 12 0 | OpenStreetMap for beginners: add the bench in your street | maps | \
     https://wiki.openstreetmap.org/wiki/Beginners%27_guide | Done. It took four minutes.",
    "75 4 9 0 | A type specimen from 1923, photographed page by page | archives,books | \
     https://letters.example.org/specimen-1923",
    "38 5 11 1 | The unreasonable effectiveness of a plain text log | practice,programming | \
     https://pavel.example.net/plain-text-log | grep is the best dashboard I ever had.",
    "9 2 4 0 | Public libraries are lending bicycles now |  | \
     https://citynews.example.com/library-bicycles",
];

/// The index of the story with the long discussion.
const DISCUSSED: usize = 8;

/// The comments of that story: the author, the parent comment, the text.
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

/// How many of the comments the member has read. The others are new.
const READ: usize = 4;

/// The id of the comment that its author deletes.
const DELETED: usize = 9;

/// The tweets: the author and the text.
const TWEETS: [(usize, &str); 9] = [
    (0, "Low tide at 06:12. Nobody on the beach but me and the man with the metal detector."),
    (5, "Reading https://boringtechnology.club/ once a year is a maintenance task."),
    (4, "The specimen from 1923 has a lower-case g that I cannot stop looking at."),
    (
        6,
        "@jun your plain text log post sent me down a hole.\n\nTwo years of weather, 41 MB, and grep is still faster than my database.",
    ),
    (7, "Fibre is up again. It was the badger."),
    (0, "@o_brien @jun lunch on Thursday? I bring the tide tables."),
    (3, "Scanning 300 pages a day, turning each of them by hand. Ask me anything."),
    (1, "Someone at mail@jun.example.org asked whether the harbour has an API. It has a noticeboard."),
    (2, "Today I learned that our library lends bicycles 🚲. See you on the dyke, @marta!"),
];

/// The full names of the authors. Some have none.
const FULL_NAMES: [&str; 8] =
    ["Marta Lindqvist", "", "Jun Watanabe", "Ciarán O'Brien", "Leila Haddad", "", "Sunniva Aas", ""];

/// Something in the moderation log, in the review queue, among the rules and among the mutes.
async fn moderate(administrator: &Client, member: &Client) {
    let tomasz = [("kind", "user"), ("id", "tomasz")];
    let silence = [("action", "silence"), ("hours", "24"), ("reason", "Insults, after a warning")];
    ok(administrator.api_post("/api/moderate", &[&tomasz[..], &silence].concat()).await);
    let note = [("action", "note"), ("reason", "The second account of the same person")];
    ok(administrator.api_post("/api/moderate", &[&tomasz[..], &note].concat()).await);
    ok(member.api_post("/api/flag", &[&tomasz[..], &[("reason", "spam")]].concat()).await);
    ok(member.call("/api/messages?text=Could the title of story 3 name the year?").await);
    ok(administrator.call("/api/messages?thread=1&text=Done, thank you.&anonymous=1").await);
    let rule =
        [("what", "phrase"), ("pattern", "cheap watches"), ("effect", "hold"), ("reason", "Advertisements")];
    ok(administrator.api_post("/api/moderate/rule", &rule).await);
    for (what, value) in [("word", "chess"), ("domain", "news.example.com")] {
        ok(member.api_post("/api/mute", &[("what", what), ("value", value)]).await);
    }
}

/// The pages of each viewer. `THREAD`, `NEWEST` and `TWEET` are numbers, `TOKEN` is that of links.
const PAGES: [(Viewer, &str); 4] = [
    (
        Viewer::Anonymous,
        "/ /top/0 /top/day /top/week /top/month /top/year /top/all /top/all/0 /top/day/0 /top/week/0 /top/month/0 /top/year/0 /latest/0 /best /best/new /topic/programming /topic/books,maps/new /topics /past \
         /past/2027-01 /past/2027-01/30 /search?q=the /search?q=votes:>abc+nothing /news/THREAD \
         /news/THREAD?at=1 /login /login/passkey /register /reset-password /reset-password/TOKEN \
         /confirm-email/TOKEN /register?invitation=TOKEN /register?invitation=unknown \
         /settings/deactivated /people/tree /people/tree/25 /@marta/invited /@jun/invited/25 \
         /unsubscribe/replies-1-TOKEN /user/jun /@jun /@marta/followers /everyone /tweet/1 \
         /usernews/jun/0 /usercomments/jun/0 /comments /ranking /about /about/trust /feeds \
         /formatting /sites /sites/controversial/month /sites/worst/day /site/lwn.net \
         /site/lwn.net/stories/0 /site/unknown.example /login?next=%2F&reason=vote /moderations \
         /appeal/1 /nothing-here",
    ),
    (
        Viewer::Member,
        "/welcome?next=%2Fnews%2FTHREAD / /latest/0 /best /news/THREAD /submit /editnews/NEWEST \
         /delnews/NEWEST /reply/THREAD/1 /editcomment/THREAD/4 /inbox /saved/0 /saved /upvoted/0 \
         /upvoted /hidden/0 /latest/0?hidden=1 /latest/0?hid=4 /topics /topics/followed \
         /topics/followed/new /topic/programming /user/jun /@jun /@marta /@marta/followers \
         /@jun/followings /home /everyone /suggestions /deltweet/TWEET /settings /settings/reading \
         /settings/mail /settings/account /flag/story/1 /vote/story/1 /moderators /messages \
         /messages/1 /settings/mutes /settings/sessions /settings/invitations /settings/deactivate \
         /settings/two-factor /settings/two-factor/app /settings/two-factor/codes \
         /settings/two-factor/passkeys /site/lwn.net /site/boringtechnology.club /logout \
         /delnews/THREAD /admin",
    ),
    (
        Viewer::Moderator,
        "/ /topic/books /news/THREAD /moderate /messages /messages/1 /moderate/person/tomasz /moderate/menu/story/1 \
         /moderate/rules /people /moderate/bans /moderate/reasons /moderate/figures /moderations /@tomasz /admin",
    ),
    (
        Viewer::Administrator,
        "/ /admin /admin?tab=month /admin?tab=server /welcome /admin/changes /admin/site \
         /admin/hooks /topic/books /news/THREAD /topics /moderate /messages /messages/1 \
         /moderate/person/tomasz /moderate/menu/story/1 /moderate/rules /people /moderate/bans /moderate/erase/story/1 \
         /moderate/reasons /moderate/figures /moderations /@tomasz /news/THREAD?at=1 /admin/sites \
         /admin/sites?voter=00000001-0000-4000-8000-000000000000",
    ),
];

impl Showcase {
    /// Starts the site. Mail is on, so that every form is shown.
    pub async fn start() -> Self {
        Self::with(&[]).await
    }

    /// The same with more settings.
    pub async fn with(more: &[(&str, &str)]) -> Self {
        let settings = [
            ("search.enabled", "true"),
            ("web.gravatars", "false"),
            ("mail.relay", "127.0.0.1:9"),
            ("karma.upvote_cost", "0"),
            ("karma.upvote_transfer", "0"),
            ("karma.downvote_cost", "0"),
            ("karma.downvote_minimum", "0"),
            ("karma.new_topic_minimum", "0"),
        ];
        let server = Server::start(Engine::Memory, &[&settings, more].concat()).await;
        let administrator = server.register("harbourmaster").await;
        let opened = server.now();
        let mut authors = Vec::new();
        for name in AUTHORS {
            authors.push(server.member(name).await);
        }
        let voters = server.members(48).await;
        let stories = stories();
        let shown = opened + stories[0].minutes_ago * MINUTE;
        for story in &stories[..stories.len() - 1] {
            submit(&server, &authors, shown, story).await;
        }
        discuss(&server, &authors).await;
        submit(&server, &authors, shown, &stories[stories.len() - 1]).await;
        server.advance(shown - server.now());
        vote(&authors, &voters).await;
        meet(&server, &authors).await;
        vote_on_sites(&server).await;
        let member = authors[MEMBER].clone();
        mark(&member).await;
        ok(member.api_post("/api/sites/vote", &[("link", "lwn.net"), ("vote", "1")]).await);
        server.set_karma(&member, 217).await;
        let about = "Systems programmer in Sapporo. I write about files at https://jun.example.org/";
        // The member has no password, which a change of the address would need.
        server.set_field(&format!("user:{}", member.user_id), "email", "jun@example.org").await;
        ok(member.update_profile(about, "jun@example.org", "").await);
        write_links(&server, &member).await;
        write_invitations(&server, &authors).await;
        moderate(&administrator, &member).await;
        Self { server, member, administrator }
    }

    /// Whether a page among [`Showcase::pages`] shows an error.
    pub fn is_refused(viewer: Viewer, page: &str) -> bool {
        let old_news = format!("/delnews/{}", DISCUSSED + 1);
        // The token is of no mail.
        let is_unknown = page == "/nothing-here" || page.starts_with("/unsubscribe/");
        is_unknown || viewer != Viewer::Administrator && (page == "/admin" || page == old_news)
    }

    /// The address of the thread with comments of several people.
    pub fn thread() -> String {
        format!("/news/{}", DISCUSSED + 1)
    }

    /// Every kind of page, and who views it.
    pub fn pages() -> Vec<(Viewer, String)> {
        let numbers = [
            ("THREAD", (DISCUSSED + 1).to_string()),
            ("TOKEN", RESET_TOKEN.to_owned()),
            ("NEWEST", STORIES.len().to_string()),
            // jun's last two tweets: one that he wrote, and the announcement of his story.
            ("TWEET", (STORIES.len() + TWEETS.len()).to_string()),
        ];
        let pages =
            PAGES.iter().flat_map(|(viewer, pages)| pages.split(' ').map(move |page| (*viewer, page)));
        let filled = |page: &str| {
            numbers.iter().fold(page.to_owned(), |page, (name, number)| page.replace(name, number))
        };
        pages.map(|(viewer, page)| (viewer, filled(page))).collect()
    }

    pub fn client(&self, viewer: Viewer) -> Client {
        match viewer {
            Viewer::Anonymous | Viewer::Moderator => self.server.visitor(),
            Viewer::Member => self.member.clone(),
            Viewer::Administrator => self.administrator.clone(),
        }
    }

    /// Opens a browser as a viewer.
    pub async fn open(&self, viewer: Viewer) -> Browser {
        match viewer {
            Viewer::Anonymous => Browser::open(&self.server).await,
            viewer => Browser::open_as(&self.server, &self.client(viewer)).await,
        }
    }
}

/// Sites, with their numbers of good and bad votes in the last month.
const SITES: [(&str, usize, usize); 9] = [
    ("lwn.net", 64, 3),
    ("archive.org", 51, 2),
    ("www.sqlite.org", 38, 1),
    ("www.rfc-editor.org", 22, 0),
    ("harbour.example.org", 9, 0),
    ("boringtechnology.club", 33, 28),
    ("vannes.example.com", 4, 6),
    ("miracle-cures.example", 2, 37),
    ("prizes.example.net", 0, 19),
];

/// Votes on sites: on different days, more on recent ones.
async fn vote_on_sites(server: &Server) {
    let address = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    for (host, good, bad) in SITES {
        for number in 0..good + bad {
            // Spread the votes over the month, the same in every run.
            let days_ago = (number * number * 7 + host.len() * 3) % 900 / 30;
            let now = Timestamp(server.now() - days_ago as u64 * 24 * 60 * MINUTE);
            let mut voter = [0; 16];
            voter[3] = u8::try_from(number + 1).unwrap();
            let verdict = Some(if number % (good + bad) < good { Verdict::Good } else { Verdict::Bad });
            let ballot = SiteVote { host: Hostname::parse(host).unwrap(), verdict };
            sites::vote(&server.app.site, now, address, VoterId::from_bytes(voter), &ballot).await.unwrap();
        }
    }
}

/// Submits a story at its time before another.
async fn submit(server: &Server, authors: &[Client], now: u64, story: &Story) {
    server.advance(now - story.minutes_ago * MINUTE - server.now());
    let author = &authors[story.author];
    let (url, text) =
        if story.content.starts_with("https://") { (story.content, "") } else { ("", story.content) };
    let fields =
        [("news_id", "-1"), ("title", story.title), ("url", url), ("text", text), ("topics", story.topics)];
    let news = ok(author.api_post("/api/submit", &fields).await)["news_id"].as_u64().unwrap();
    for (position, text) in story.comments.iter().enumerate() {
        authors[(story.author + position + 1) % authors.len()].comment(news, text).await;
    }
}

/// Writes the discussion, with two minutes between comments.
async fn discuss(server: &Server, authors: &[Client]) {
    let news = DISCUSSED as u64 + 1;
    let write = async |author: usize, parent: Option<u64>, text: &str| match parent {
        Some(parent) => authors[author].reply(news, parent, text).await,
        None => authors[author].comment(news, text).await,
    };
    for (position, (author, parent, text)) in DISCUSSION.into_iter().enumerate() {
        if position == READ {
            authors[MEMBER].get(&Showcase::thread()).await;
        }
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

/// Sets full names, follows people and posts the tweets.
async fn meet(server: &Server, authors: &[Client]) {
    for (author, name) in authors.iter().zip(FULL_NAMES) {
        ok(author.call(&format!("/api/updateprofile?about=&email=&fullname={name}")).await);
    }
    for (follower, followed) in [
        (2, 0),
        (2, 5),
        (2, 6),
        (2, 3),
        (0, 2),
        (0, 4),
        (5, 4),
        (6, 7),
        (3, 4),
        (3, 2),
        (5, 0),
        (7, 0),
        (6, 2),
    ] {
        authors[follower].follow(AUTHORS[followed]).await;
    }
    for (author, text) in TWEETS {
        server.advance(MINUTE / 2);
        authors[author].tweet(text).await;
    }
}

async fn vote(authors: &[Client], voters: &[Client]) {
    for (position, story) in stories().iter().enumerate() {
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
        ok(authors[MEMBER].vote(news, "up").await);
    }
}

/// The member hides and saves stories, subscribes to a thread and follows topics.
async fn mark(member: &Client) {
    for (call, field, value) in [
        ("/api/hide", "news_id", "4"),
        ("/api/save", "news_id", "5"),
        ("/api/subscribe", "news_id", "2"),
        ("/api/followtopic", "topic", "books"),
        ("/api/followtopic", "topic", "maps"),
    ] {
        ok(member.api_post(call, &[(field, value)]).await);
    }
}

/// Writes what a mailed link to set a new password needs, which is valid for these credentials,
/// and one that confirms the address.
async fn write_links(server: &Server, member: &Client) {
    let user = server.hash(&format!("user:{}", member.user_id)).await;
    let credentials = ["password", "email", "credentials_version"]
        .map(|field| user.get(field).cloned().unwrap_or_default())
        .join("\0");
    let fingerprint: String = hex::encode(Sha256::digest(credentials)).chars().take(16).collect();
    let link = format!("{} {fingerprint}", member.user_id);
    server.write(|batch| batch.set(format!("password_reset:{RESET_TOKEN}"), link)).await;
    let email = user.get("email").cloned().unwrap_or_default();
    let fingerprint: String = hex::encode(Sha256::digest(email)).chars().take(16).collect();
    let link = format!("{} {fingerprint}", member.user_id);
    let mut batch = Batch::new();
    batch.set(format!("confirm_email:{RESET_TOKEN}"), link);
    batch.set_field(format!("user:{}", member.user_id), "unconfirmed", "1");
    server.commit(batch).await;
}

/// The first author has invited the next three, and the member has an invitation left.
async fn write_invitations(server: &Server, people: &[Client]) {
    let (member, now) = (&people[MEMBER], server.now());
    let first = people[0].user_id;
    let mut batch = Batch::new();
    for (invited, seconds) in people[1..4].iter().zip(1_u32..) {
        batch.sorted_add(format!("invites:by:{first}"), invited.user_id.to_string(), f64::from(seconds));
        batch.set_field(format!("user:{}", invited.user_id), "invited_by", first.to_string());
    }
    batch.sorted_add("invites:roots", first.to_string(), 1.0);
    let fields = [("user_id", member.user_id.to_string()), ("time", now.to_string())];
    batch.set_fields(format!("invites:code:{RESET_TOKEN}"), fields);
    let open = format!("invites:open:{}", member.user_id);
    batch.sorted_add(open, RESET_TOKEN, Timestamp(now).as_score());
    server.commit(batch).await;
}

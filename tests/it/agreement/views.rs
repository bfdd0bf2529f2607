//! The views of everybody, compared with the truth.

use super::model::{Kind, Made, Model, Person, Place, State, Thing, Word, text_of, words_in};
use super::steps::{ADMIN, COMMON, FIRST, HOSTS, MODERATORS, WATCHER, Walk};
use crate::client::Client;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// The faults, with an example of each kind.
pub type Faults = BTreeMap<String, (usize, String)>;

/// Notes a fault of a kind.
pub fn note(faults: &mut Faults, what: String, example: impl FnOnce() -> String) {
    faults.entry(what).and_modify(|(count, _)| *count += 1).or_insert_with(|| (1, example()));
}

/// Pages of one list that are followed.
const MOST_PAGES: usize = 60;

/// Somebody who reads.
struct Reader<'a> {
    walk: &'a Walk,
    model: &'a Model,
    client: Client,
    who: Option<Person>,
    name: &'static str,
    faults: &'a mut Faults,
}

/// An address without what differs between things of a kind.
fn family(address: &str) -> String {
    let path = address.trim_start_matches("http://localhost:8080");
    let mut family = String::new();
    for part in path.split_inclusive(['/', '?', '&', '=', '-', '.']) {
        let name = part.trim_end_matches(['/', '?', '&', '=', '-', '.']);
        let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        let is_name = name.trim_start_matches('@').starts_with("writer");
        if is_number || is_name {
            family.push('N');
            family.push_str(&part[name.len()..]);
        } else {
            family.push_str(part);
        }
    }
    family
}

/// The address of the next page, as pages and feeds name it.
fn next_page(answer: &str) -> Option<String> {
    let unescaped = |address: &str| address.replace("&amp;", "&").replace("http://localhost:8080", "");
    if let Some((_, rest)) = answer.split_once("\"next_url\":\"") {
        return Some(unescaped(rest.split_once('"')?.0));
    }
    let at = answer.find("rel=\"next\"")?;
    let start = answer[..at].rfind('<')?;
    let tag = &answer[start..start + answer[start..].find('>')?];
    let (_, rest) = tag.split_once("href=\"")?;
    Some(unescaped(rest.split_once('"')?.0))
}

/// Whether a view must have a word; `None` if it may.
type Expected = Option<bool>;

impl Reader<'_> {
    fn fault(&mut self, what: String, example: impl FnOnce() -> String) {
        note(self.faults, what, example);
    }

    /// The text at an address. No word is there that the reader may not see.
    async fn text(&mut self, address: &str) -> (String, BTreeSet<Word>) {
        let answer = self.client.get(address).await;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        if answer.status.is_server_error() {
            self.fault(format!("{} answers {}", family(address), answer.status), || {
                format!("{address}: {text}")
            });
        }
        let words: BTreeSet<Word> =
            words_in(&answer.body).into_iter().filter(|word| *word < self.model.sources.len()).collect();
        for word in &words {
            if !self.model.may_see(self.who, *word) {
                let what =
                    format!("leak: {} sends {} {}", family(address), self.name, self.model.describe(*word));
                self.fault(what, || format!("{address} has {}", text_of(*word)));
            }
        }
        (text, words)
    }

    /// The answer of a call, `null` if it is no JSON.
    async fn answer(&mut self, address: &str) -> (Json, BTreeSet<Word>) {
        let (text, words) = self.text(address).await;
        (serde_json::from_str(&text).unwrap_or_default(), words)
    }

    async fn words(&mut self, address: &str) -> BTreeSet<Word> {
        self.text(address).await.1
    }

    /// The words on all pages of a list.
    async fn pages(&mut self, first: &str) -> BTreeSet<Word> {
        let (mut next, mut found) = (Some(first.to_owned()), BTreeSet::new());
        for _ in 0..MOST_PAGES {
            let Some(address) = next else { return found };
            let (text, words) = self.text(&address).await;
            found.extend(words);
            next = next_page(&text);
        }
        self.fault(format!("{} has no end", family(first)), String::new);
        found
    }

    /// The words of all parts of a call that has `next`.
    async fn parts(&mut self, path: &str) -> (BTreeSet<Word>, Vec<Json>) {
        let (mut before, mut found, mut entries) = (String::new(), BTreeSet::new(), Vec::new());
        for _ in 0..MOST_PAGES {
            let (answer, words) = self.answer(&format!("{path}{before}")).await;
            found.extend(words);
            let lists = ["entries", "tweets", "items"].iter().find_map(|list| answer[*list].as_array());
            entries.extend(lists.into_iter().flatten().cloned());
            let Some(next) = answer["next"]
                .as_str()
                .map(str::to_owned)
                .or(answer["next"].as_u64().map(|next| next.to_string()))
            else {
                return (found, entries);
            };
            before = format!("{}before={next}", if path.contains('?') { "&" } else { "?" });
        }
        (found, entries)
    }

    /// Compares what a view has with what it should have.
    fn demand(
        &mut self,
        view: &str,
        found: &BTreeSet<Word>,
        expected: impl Fn(Made, &Thing, Place) -> Expected,
    ) {
        let model = self.model;
        for (made, thing) in &model.things {
            for (place, word) in &thing.words {
                let Some(is_there) = expected(*made, thing, *place) else { continue };
                if is_there != found.contains(word) {
                    let how = if is_there { "lacks" } else { "shows" };
                    let what = format!("{view} {how} for {}: {}", self.name, model.describe(*word));
                    let walk = self.walk;
                    self.fault(what, || {
                        let by = &model.people[thing.author].name;
                        format!("{} {} by {by}{}", text_of(*word), thing.id, walk.history(*made))
                    });
                }
            }
        }
    }
}

/// Whether only the page of another story has a thing.
fn is_merged(model: &Model, thing: &Thing) -> bool {
    thing.state == State::Merged
        || thing.story.is_some_and(|story| model.things[&story].state == State::Merged)
}

fn is_title(place: Place) -> bool {
    matches!(place, Place::Title | Place::Url)
}

/// The words of lists of stories.
fn listed(model: &Model, who: Option<Person>) -> impl Fn(Made, &Thing, Place) -> Expected {
    move |_, thing, place| (thing.kind == Kind::Story && is_title(place)).then(|| model.is_listed(who, thing))
}

impl Walk {
    /// Compares all views with what is true.
    pub async fn compare(&self, faults: &mut Faults, everything: bool) {
        let server = &self.server;
        server.finish_jobs().await;
        self.compare_states(faults).await;
        let who = FIRST + 1;
        if self.may_act(who) {
            let client = self.clients[who].clone();
            let name = "somebody who mutes";
            let mut reader = Reader { walk: self, model: &self.model, client, who: Some(who), name, faults };
            self.compare_mutes(&mut reader).await;
        }
        let readers = [
            ("a visitor", None),
            ("a reader", Some(WATCHER)),
            ("an author", Some(FIRST)),
            ("a moderator", Some(MODERATORS[1])),
        ];
        for (name, who) in readers {
            if who.is_some_and(|who| self.model.people[who].has_left || self.model.people[who].is_banned) {
                continue;
            }
            let client = who.map_or_else(|| server.visitor(), |who| self.clients[who].clone());
            let mut reader = Reader { walk: self, model: &self.model, client, who, name, faults };
            self.compare_lists(&mut reader).await;
            self.compare_threads(&mut reader, everything).await;
            self.compare_people(&mut reader).await;
            self.compare_inbox(&mut reader).await;
            if who.is_none() {
                self.compare_feeds(&mut reader).await;
                self.compare_programs(&mut reader).await;
            }
            if everything && ["a visitor", "a reader"].contains(&name) {
                let ill = ["/v1/scores", "/random"];
                // Members who ask for it are shown what flags have hidden.
                let is_swept =
                    |at: &String| !ill.contains(&&**at) && (who.is_none() || !at.contains("hidden=1"));
                for address in crate::two_viewers::addresses().into_iter().filter(is_swept) {
                    reader.words(&address).await;
                }
            }
        }
    }

    /// Each thing is stored as the model says.
    async fn compare_states(&self, faults: &mut Faults) {
        for (made, thing) in &self.model.things {
            let (state, words) = super::stored::stored(&self.server, &self.model, thing).await;
            // The record of a post that is deleted or erased may be gone.
            let is_gone = |state| matches!(state, State::Deleted | State::Erased);
            let as_stored = match thing.state {
                State::Rejected => State::Removed,
                state => state,
            };
            let is_former = thing.kind == Kind::Profile && self.model.people[thing.author].has_left;
            let lacks = |word: &&Word| !words.contains(word);
            if state == as_stored
                && !is_gone(state)
                && !is_former
                && thing.words.values().any(|word| lacks(&word))
            {
                let what = format!("a {:?} that is {state:?} is stored with other words", thing.kind);
                note(faults, what, || format!("{} {words:?}{}", thing.id, self.history(*made)));
            }
            if state != as_stored && !is_former && !(is_gone(state) && is_gone(as_stored)) {
                let what =
                    format!("a {:?} that should be {:?} is stored as {state:?}", thing.kind, thing.state);
                note(faults, what, || format!("{}{}", thing.id, self.history(*made)));
            }
        }
    }

    async fn compare_lists(&self, reader: &mut Reader<'_>) {
        let (model, who) = (&self.model, reader.who);
        for list in ["/latest/0", "/top/0", "/best/new", "/past/2027-01"] {
            let found = reader.pages(list).await;
            reader.demand(list, &found, listed(model, who));
        }
        let mut found = BTreeSet::new();
        for start in (0..).step_by(32).take(8) {
            let (answer, words) = reader.answer(&format!("/api/getnews/latest/{start}/32")).await;
            for story in answer["news"].as_array().into_iter().flatten() {
                self.compare_count("/api/getnews", reader, (&story["id"], &story["comments"]));
            }
            found.extend(words);
        }
        reader.demand("/api/getnews", &found, listed(model, who));
        let topics: BTreeSet<&String> =
            model.things.values().filter_map(|thing| thing.topic.as_ref()).collect();
        for name in topics {
            let found = reader.pages(&format!("/topic/{name}/new")).await;
            reader.demand("/topic", &found, |_, thing, place| {
                (thing.kind == Kind::Story && place == Place::Title)
                    .then(|| model.is_listed(who, thing) && thing.topic.as_ref() == Some(name))
            });
        }
        for host in 0..HOSTS {
            let found = reader.pages(&format!("/site/site{host}.example/stories/0")).await;
            reader.demand("/site", &found, |_, thing, place| {
                (thing.kind == Kind::Story && place == Place::Title)
                    .then(|| model.is_listed(who, thing) && thing.host == Some(host))
            });
        }
        let found = reader.pages("/comments").await;
        reader.demand("/comments", &found, |_, thing, _| {
            (thing.kind == Kind::Comment && !is_merged(model, thing)).then(|| model.is_listed(who, thing))
        });
        let found = reader.pages("/everyone").await;
        let tweets = |_: Made, thing: &Thing, _: Place| {
            (thing.kind == Kind::Tweet).then(|| model.is_listed(who, thing))
        };
        reader.demand("/everyone", &found, tweets);
        let (found, _) = reader.parts("/api/timeline/everyone?count=100").await;
        reader.demand("/api/timeline/everyone", &found, tweets);
        self.compare_searches(reader).await;
        let (found, _) = reader.parts("/api/moderations?count=100").await;
        for (number, source) in model.sources.iter().enumerate() {
            if source.place == Place::Staff && found.contains(&number) && who.is_none() {
                reader.fault("the log has a note".to_owned(), || text_of(number));
            }
        }
        reader.words("/moderations").await;
        reader.words("/moderations/atom").await;
    }

    async fn compare_searches(&self, reader: &mut Reader<'_>) {
        let (model, who) = (&self.model, reader.who);
        for (kinds, kind) in [("stories", Kind::Story), ("comments", Kind::Comment), ("posts", Kind::Tweet)] {
            let (mut found, mut rows, mut total, mut pages) = (BTreeSet::new(), 0, 0, Vec::new());
            for page in 1..=20 {
                let search = format!("/api/search?q={COMMON}&kind={kinds}&sort=new&page={page}");
                let (answer, words) = reader.answer(&search).await;
                if answer["status"] != "ok" {
                    reader.fault(format!("a search of {kinds} fails"), || answer.to_string());
                    return;
                }
                let results = answer["results"].as_array().map_or(0, Vec::len);
                rows += results;
                total = answer["total"].as_u64().unwrap_or(0);
                pages.push((results, total, answer["total_is_exact"].clone()));
                found.extend(words);
                if results == 0 {
                    break;
                }
            }
            reader.demand(&format!("search of {kinds}"), &found, |_, thing, place| {
                (thing.kind == kind && place != Place::Url && place != Place::Text
                    || thing.kind == kind && kind != Kind::Story)
                    .then(|| model.is_listed(who, thing))
            });
            if total != rows as u64 {
                let what =
                    format!("the total of a search of {kinds} differs from its rows for {}", reader.name);
                reader.fault(what, || {
                    format!("{total} and {rows}; rows, total and exactness of its pages: {pages:?}")
                });
            }
        }
    }

    /// The number of comments that is shown is that of the comments.
    fn compare_count(&self, view: &str, reader: &mut Reader<'_>, (id, count): (&Json, &Json)) {
        let (id, count) = (id.to_string(), count.as_u64());
        let Some((made, thing)) = self.model.of_kind(Kind::Story).find(|(_, thing)| thing.id == id) else {
            return;
        };
        let expected = self.model.count_of(made);
        if count != Some(expected as u64) {
            let what = format!("{view} counts comments of a story that is {:?} wrongly", thing.state);
            reader.fault(what, || format!("{id}: {count:?} and not {expected}"));
        }
    }

    async fn compare_threads(&self, reader: &mut Reader<'_>, everything: bool) {
        let (model, who) = (&self.model, reader.who);
        for (at, (made, story)) in model.of_kind(Kind::Story).enumerate() {
            if !everything && at % 4 != self.steps.len() % 4 {
                continue;
            }
            let in_thread = |_: Made, thing: &Thing, _: Place| {
                let of = thing.story?;
                // A merged story's comments are on the page of the other.
                let is_here = of == made
                    || model.things[&of].into == Some(made) && model.things[&of].state == State::Merged;
                (is_here && story.state == State::Open).then(|| model.may_read(who, thing))
            };
            let found = reader.pages(&format!("/news/{}", story.id)).await;
            reader.demand("/news/N", &found, in_thread);
            reader.demand("/news/N", &found, |other, _, place| {
                (other == made && place != Place::Url && story.state != State::Merged)
                    .then(|| model.may_read(who, story))
            });
            let (text, words) = reader.text(&format!("/api/getcomments/{}", story.id)).await;
            if text.contains("\"next\":null") {
                // Programs are told which stories are merged into it, and ask for their comments.
                reader.demand("/api/getcomments/N", &words, |other, thing, place| {
                    in_thread(other, thing, place).filter(|_| !is_merged(model, thing))
                });
            }
        }
        for (_, tweet) in model.of_kind(Kind::Tweet).filter(|(at, _)| everything || at % 5 == 0) {
            reader.words(&format!("/tweet/{}", tweet.id)).await;
        }
    }

    async fn compare_people(&self, reader: &mut Reader<'_>) {
        let (model, who) = (&self.model, reader.who);
        for (person, member) in model.people.iter().enumerate().skip(FIRST) {
            let name = &member.name;
            let of_person = |kind: Kind, with_withheld: bool| {
                move |_: Made, thing: &Thing, place: Place| {
                    let is_it = thing.kind == kind
                        && place != Place::Url
                        && (kind != Kind::Story || place == Place::Title);
                    let is_shown =
                        if with_withheld { model.may_read(who, thing) } else { model.is_listed(who, thing) };
                    // A thing that nobody was ever shown is in no list of its author.
                    let was_shown = !matches!(thing.state, State::Held | State::Rejected | State::Merged);
                    (is_it && was_shown && thing.author == person && !member.has_left).then_some(is_shown)
                }
            };
            let found = reader.pages(&format!("/usernews/{name}/0")).await;
            reader.demand("/usernews/N", &found, of_person(Kind::Story, true));
            let found = reader.pages(&format!("/usercomments/{name}/0")).await;
            reader.demand("/usercomments/N", &found, of_person(Kind::Comment, true));
            let found = reader.pages(&format!("/@{name}?show=posts")).await;
            if !member.is_banned {
                reader.demand("/@N", &found, of_person(Kind::Tweet, false));
            }
            let (found, _) = reader.parts(&format!("/api/timeline/user/{name}?count=100")).await;
            reader.demand("/api/timeline/user/N", &found, of_person(Kind::Tweet, false));
            let found = reader.words(&format!("/user/{name}")).await;
            reader.demand("/user/N", &found, |_, thing, place| {
                (thing.kind == Kind::Profile && thing.author == person && !member.has_left)
                    .then(|| model.may_read(who, thing) || model.is_name_of_flagged(thing, place))
            });
            reader.words(&format!("/flag/user/{name}")).await;
        }
    }

    async fn compare_inbox(&self, reader: &mut Reader<'_>) {
        let Some(who) = reader.who else { return };
        // A page may mark as read what is on it.
        reader.pages("/inbox").await;
        reader.words("/messages").await;
        let (_, entries) = reader.parts("/api/inbox?count=100").await;
        let unread = entries.iter().filter(|entry| entry["read"] == false).count();
        let (text, _) = reader.text("/settings").await;
        let badge = text.split_once("<span class=\"badge\">").map_or("0", |(_, rest)| {
            let (number, rest) = rest.split_once('<').unwrap_or_default();
            if rest.starts_with("span class=\"hidden\"> unread") { number } else { "0" }
        });
        let called = self.clients[who].api_get("/api/inbox").await["unread"].to_string();
        if badge != unread.to_string() || called != badge {
            let user = self.clients[who].user_id;
            let stored = format!("{:?}", self.server.sorted(&format!("user:{user}:unread")).await);
            let named = stored.replace("mention:tweet:", "tweet:").replace("mention:", "comment:");
            let history = self.history_of_named(&named.replace("reply:", "comment:"));
            reader.fault(format!("the badge of {} differs from the inbox", reader.name), || {
                format!("{badge} on pages, {called} in the call, {unread} entries; stored: {stored}{history}")
            });
        }
        if who == WATCHER {
            let model = &self.model;
            let inbox: BTreeSet<Word> =
                words_in(Json::from(entries).to_string().as_bytes()).into_iter().collect();
            reader.demand("/api/inbox", &inbox, |_, thing, _| {
                (thing.kind != Kind::Story && thing.mentions == Some(who))
                    .then(|| model.may_read(Some(who), thing))
            });
            let found = reader.pages("/home").await;
            let (called, _) = reader.parts("/api/timeline/home?count=100").await;
            for (view, found) in [("/home", found), ("/api/timeline/home", called)] {
                reader.demand(view, &found, |_, thing, _| {
                    let is_followed =
                        (FIRST..FIRST + 5).contains(&thing.author) && !model.people[thing.author].has_left;
                    (thing.kind == Kind::Tweet && is_followed).then(|| model.is_listed(Some(who), thing))
                });
            }
        }
        if self.model.people[who].is_staff {
            reader.words("/moderate").await;
            let (_, items) = reader.parts("/api/moderate/queue?count=100").await;
            let (page, _) = reader.text("/").await;
            let waiting = page
                .split_once("<span class=\"hidden\"> waiting")
                .map_or("0", |(before, _)| before.rsplit_once('>').map_or("?", |(_, number)| number));
            if waiting != items.len().to_string() {
                let shown: BTreeSet<String> = items
                    .iter()
                    .map(|item| {
                        format!("{}:{}", item["kind"].as_str().unwrap(), item["id"].as_str().unwrap())
                    })
                    .collect();
                let stored = self.server.sorted("review:queue").await.into_iter().map(|(member, _)| member);
                let hidden: Vec<String> = stored.filter(|member| !shown.contains(member)).collect();
                let history = self.history_of_named(&format!("{hidden:?}"));
                reader.fault("the badge of the queue differs from the queue".to_owned(), || {
                    format!("{waiting} and not {}; not shown: {hidden:?}{history}", items.len())
                });
            }
        }
    }

    /// Lists have nothing that their reader has muted or hidden.
    async fn compare_mutes(&self, reader: &mut Reader<'_>) {
        let Some(who) = reader.who else { return };
        let model = &self.model;
        let mutes: Vec<Person> =
            model.mutes.union(&model.blocks).filter(|(by, _)| *by == who).map(|(_, other)| *other).collect();
        if mutes.is_empty() && model.hidden.iter().all(|(by, _)| *by != who) {
            return;
        }
        let searches =
            ["stories", "comments", "posts"].map(|kind| format!("/api/search?q={COMMON}&kind={kind}"));
        let lists = "/api/getnews/latest/0/32 /api/getnews/top/0/32 /latest/0 \
            /api/timeline/everyone?count=100 /comments";
        for view in lists.split(' ').chain(searches.iter().map(|search| &**search)) {
            let found = reader.words(view).await;
            reader.demand(&format!("muted: {}", family(view)), &found, |made, thing, place| {
                let is_hidden = model.hidden.contains(&(who, thing.story.unwrap_or(made)));
                let is_muted =
                    mutes.contains(&thing.author) && thing.kind != Kind::Profile && place != Place::Name;
                let is_hidden = is_hidden && thing.kind == Kind::Story && !view.contains("timeline");
                (is_muted || is_hidden).then_some(false)
            });
        }
    }

    async fn compare_feeds(&self, reader: &mut Reader<'_>) {
        let model = &self.model;
        for feed in ["/atom", "/json", "/rss", "/best/new/atom"] {
            let found = reader.pages(feed).await;
            reader.demand(feed, &found, |_, thing, place| {
                (thing.kind == Kind::Story && place == Place::Title).then(|| model.is_listed(None, thing))
            });
        }
        for feed in ["/comments/atom", "/comments/json"] {
            let found = reader.pages(feed).await;
            reader.demand(feed, &found, |_, thing, _| {
                (thing.kind == Kind::Comment && !is_merged(model, thing))
                    .then(|| model.is_listed(None, thing))
            });
        }
        for (person, member) in model.people.iter().enumerate().skip(FIRST) {
            let name = &member.name;
            for (feed, kind) in [
                (format!("/user/{name}/stories/atom"), Kind::Story),
                (format!("/user/{name}/stories/json"), Kind::Story),
                (format!("/user/{name}/comments/atom"), Kind::Comment),
                (format!("/@{name}/feed"), Kind::Tweet),
            ] {
                let found = reader.pages(&feed).await;
                reader.demand(&family(&feed), &found, |_, thing, place| {
                    let is_it = thing.kind == kind && thing.author == person && place != Place::Url;
                    let is_listed = if kind == Kind::Comment {
                        model.may_read(None, thing)
                    } else {
                        model.is_listed(None, thing)
                    };
                    (is_it && !member.has_left && !member.is_banned).then_some(is_listed)
                });
            }
            reader.pages(&format!("/user/{name}/atom")).await;
        }
        for (at, (_, story)) in model.of_kind(Kind::Story).enumerate() {
            if at % 4 == 0 {
                reader.words(&format!("/news/{}/atom", story.id)).await;
            }
        }
    }

    /// The answers to programs made for Hacker News.
    async fn compare_programs(&self, reader: &mut Reader<'_>) {
        let model = &self.model;
        let maximum: usize = reader.text("/v0/maxitem.json").await.0.trim().parse().unwrap_or_default();
        let mut found = BTreeSet::new();
        for number in 1..=maximum {
            found.extend(reader.words(&format!("/v0/item/{number}.json")).await);
        }
        reader.demand("/v0/item/N", &found, |_, thing, _| {
            (matches!(thing.kind, Kind::Story | Kind::Comment) && thing.state != State::Merged)
                .then(|| model.may_read(None, thing))
        });
        for (tag, kind) in [("story", Kind::Story), ("comment", Kind::Comment)] {
            let found = reader.words(&format!("/api/v1/search_by_date?tags={tag}&hitsPerPage=1000")).await;
            reader.demand(&format!("/api/v1/search_by_date of {tag}"), &found, |_, thing, place| {
                (thing.kind == kind && (kind == Kind::Comment || place != Place::Text))
                    .then(|| model.is_listed(None, thing))
            });
        }
        for (person, member) in model.people.iter().enumerate().skip(FIRST) {
            let name = &member.name;
            let stored = self.server.karma(&self.clients[person]).await;
            for address in [format!("/v0/user/{name}.json"), format!("/api/v1/users/{name}")] {
                let (answer, _) = reader.answer(&address).await;
                if answer["karma"].as_i64().is_some_and(|karma| karma != stored) {
                    reader.fault(format!("{} has another karma", family(&address)), || {
                        format!("{answer}, not {stored}")
                    });
                }
            }
        }
    }

    /// Waits until searches find what was written last.
    pub async fn follow_index(&mut self) {
        self.server.finish_jobs().await;
        // The comparison of counts may find a first mark before the feed of changes is read; the feed is read before the
        // next comparison.
        for _ in 0..2 {
            let word = self.model.word(Place::Reason, ADMIN, None);
            let expected = format!("mark {}", text_of(word));
            self.clients[ADMIN].tweet(&expected).await;
            let question = format!("q={}&kind=posts", text_of(word));
            crate::search::finds(&self.clients[ADMIN], &question, &[&expected]).await;
        }
    }
}

/// Undoes everything that can be undone, the last first. Returns how much that was.
pub async fn undo_everything(walk: &mut Walk) -> usize {
    let mut undone = 0;
    for made in walk.open_lines().into_iter().rev() {
        undone += usize::from(walk.undo(made, ADMIN).await.is_some());
    }
    undone
}

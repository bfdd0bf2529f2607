//! The content of webhook messages. It is read when a message is sent, as a visitor may read it. So it has
//! nothing that is no longer public, and no text and no name from flags and the review queue.

use crate::App;
use crate::features::comments::calls::FoundComment;
use crate::features::moderation::flagging::reason_name;
use crate::features::moderation::log::{LogLine, summary};
use crate::features::stories::calls::NewsEntry;
use crate::markup::addresses::{address_of_thing, comment_address, news_address, profile_address};
use crate::markup::head::{excerpt, shortened};
use crate::markup::parts::DELETED_USER;
use serde_json::{Value, json};
use tidings_domain::changes::Findable;
use tidings_domain::found::{self, Finding};
use tidings_domain::hooks::{self, Event, HookMessage};
use tidings_domain::moderation::log;
use tidings_domain::values::{HookFormat, Thing};
use tidings_domain::{Error, Refusal, Visit, flags};
use tidings_language::lists::enumerated;
use tidings_language::{Phrase, n, p, t};

/// The page of the review queue.
const QUEUE: &str = "/moderate";

/// The description of an event.
struct Told {
    /// The members that only its kind has.
    members: Vec<(&'static str, Value)>,
    /// The same in one line of plain text.
    words: String,
    /// The page that shows it.
    page: String,
}

/// The body of a message in a format. `None` if there is nothing to tell any more. Rounds: at most 4.
///
/// # Errors
/// When the store fails.
pub(super) async fn body(
    app: &App,
    message: &HookMessage,
    format: HookFormat,
) -> Result<Option<Vec<u8>>, Error> {
    let Some(Told { members, words, page }) = told(app, &message.event).await? else { return Ok(None) };
    let brand = app.brand().await;
    let page = brand.site.link(&page);
    let body = match format {
        HookFormat::Chat => json!({ "text": format!("{} {page}", harmless(&words)) }),
        HookFormat::Full => {
            let of_all: [(&str, Value); 5] = [
                ("id", message.to_string().into()),
                ("kind", message.event.name().into()),
                ("time", message.since.0.into()),
                ("site", brand.site.name.clone().into()),
                ("link", page.into()),
            ];
            let members = of_all.into_iter().chain(members);
            Value::Object(members.map(|(name, value)| (name.to_owned(), value)).collect())
        }
    };
    Ok(Some(body.to_string().into_bytes()))
}

/// Describes an event. `None` if it is no longer public, or no longer true.
async fn told(app: &App, event: &Event) -> Result<Option<Told>, Error> {
    let site = &app.site;
    let mut visit = Visit::new(site.clone(), app.now(), None);
    Ok(Some(match event {
        Event::Story(id) => {
            let Some(Finding::Story(line)) = find(&mut visit, Findable::Story(*id)).await? else {
                return Ok(None);
            };
            let author = line.username.as_deref().unwrap_or(DELETED_USER);
            let title = shortened(&line.news.title);
            let words = t!("New story by {author}: {title}", author, title).to_string();
            let members = vec![("story", object(NewsEntry::from((&*line, false))))];
            Told { members, words, page: news_address(*id) }
        }
        Event::Comment(address) => {
            let Some(Finding::Comment(found)) = find(&mut visit, Findable::Comment(*address)).await? else {
                return Ok(None);
            };
            let line = found.line();
            let author = line.username.unwrap_or(DELETED_USER);
            let title = shortened(&found.news.title);
            let text = excerpt(line.body());
            let words = t!("{author} on “{title}”: {text}", author, title, text).to_string();
            let members = vec![("comment", object(FoundComment::from(&*found)))];
            Told { members, words, page: comment_address(*address) }
        }
        Event::Signup(id) => {
            let Some(Finding::Person(user)) = find(&mut visit, Findable::Person(*id)).await? else {
                return Ok(None);
            };
            Told {
                words: t!("{name} has signed up", name = &user.username).to_string(),
                page: profile_address(&user.username, ""),
                members: vec![("user", json!({ "username": user.username, "ctime": user.ctime.0 }))],
            }
        }
        Event::Flag(thing) => {
            let reasons = flags::waiting(site, thing).await?;
            let flags = reasons.iter().map(|(_, count)| count).sum::<u64>();
            if flags == 0 {
                return Ok(None);
            }
            let names: Vec<&str> = reasons.iter().map(|(reason, _)| reason.name()).collect();
            let mut members = of_thing(thing);
            members.extend([("flags", json!(flags)), ("reasons", json!(names))]);
            let words = n!(
                flags,
                "{thing} has {count} flag: {reasons}",
                "{thing} has {count} flags: {reasons}",
                thing = called(thing),
                reasons = enumerated(reasons.iter().map(|(reason, _)| reason_name(*reason)))
            );
            Told { members, words: words.to_string(), page: QUEUE.to_owned() }
        }
        Event::Queue(thing) => {
            if !hooks::is_queued(site, thing).await? {
                return Ok(None);
            }
            let words = t!("{thing} waits for a moderator", thing = called(thing)).to_string();
            Told { members: of_thing(thing), words, page: QUEUE.to_owned() }
        }
        Event::Decision(id) => {
            let entry = match log::entry(&mut visit, *id).await {
                Ok(entry) => entry,
                Err(Error::Refused(Refusal::NoSuchModeration)) => return Ok(None),
                Err(error) => return Err(error),
            };
            let reason = if entry.reason.is_empty() { String::new() } else { format!(": {}", entry.reason) };
            let words = shortened(&format!("{}{reason}", summary(&entry)));
            let page = address_of_thing(&Thing::Appeal(*id));
            Told { members: vec![("decision", object(LogLine::from(entry)))], words, page }
        }
        Event::Test => Told {
            members: Vec::new(),
            words: t!("This webhook works").to_owned(),
            page: super::ADDRESS.to_owned(),
        },
    }))
}

/// A thing, as a visitor may find it.
async fn find(visit: &mut Visit, thing: Findable) -> Result<Option<Finding>, Error> {
    let mut found = found::read(visit, std::slice::from_ref(&thing)).await?;
    Ok(found.remove(&thing))
}

/// The members that identify a thing. An applicant for an account is not named.
fn of_thing(thing: &Thing) -> Vec<(&'static str, Value)> {
    let target = if matches!(thing, Thing::Application(_)) { Value::Null } else { thing.id().into() };
    vec![("thing", json!({ "kind": thing.kind(), "target": target }))]
}

/// The usual name of a thing, at the beginning of a sentence.
fn called(thing: &Thing) -> Phrase<'_> {
    match thing {
        Thing::Story(id) => t!("Story {id}", id = id.to_string()),
        Thing::Comment(address) => t!("Comment {id}", id = address.to_string()),
        Thing::Tweet(id) => t!("Post {id}", id = id.to_string()),
        Thing::User(name) => t!("The profile of {name}", name),
        Thing::Application(_) => p!("An application for an account"),
        Thing::Appeal(id) => t!("An appeal against decision {id}", id = id.to_string()),
        Thing::Message(_) => p!("A message to the moderators"),
        Thing::Rule(_) | Thing::Origin(_) | Thing::Site(_) => p!("Something"),
    }
}

fn object(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// A text that no chat takes for a command: Slack has its own between `<` and `>`, and others call everybody with `@`.
fn harmless(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('@', "@\u{200B}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_calls_nobody_in_a_chat() {
        assert_eq!(harmless("<!channel> & @everyone"), "&lt;!channel&gt; &amp; @\u{200B}everyone");
    }

    #[test]
    fn applicants_are_not_named() {
        let thing = Thing::Application("bob".into());
        let said = format!("{:?}{}", of_thing(&thing), called(&thing));
        assert!(!said.contains("bob"), "{said}");
    }
}

//! The moderators' part of a person's page: their notes, where the person comes from, and the
//! forms.

use crate::error::{Result, unknown_name};
use crate::markup::addresses::{person_address, profile_address};
use crate::markup::dates::to_the_minute;
use crate::markup::moderation_tools::{ActionForms, is_moderator, may_moderate};
use crate::markup::parts::{age, author, label_of};
use crate::markup::{Frame, Member, Page};
use crate::request::{PathOf, answer};
use axum::Json;
use maud::{Markup, Render, html};
use std::net::IpAddr;
use tidings_domain::accounts::profiles::ProfileFacts;
use tidings_domain::moderation::networks::{self, Neighbourhood};
use tidings_domain::moderation::notes::{self, Note};
use tidings_domain::values::{Action, ActionSubject, Restriction, RestrictionKind, Thing, Timestamp};
use tidings_domain::{Role, Visit};
use tidings_language::lists::enumerated;
use tidings_language::{Message, Phrase, m, n, p, t};

/// How long a restriction can last: hours and words.
pub(super) const SPANS: [(&str, &Message); 4] =
    [("1", m!("1 hour")), ("24", m!("1 day")), ("168", m!("1 week")), ("0", m!("permanently"))];
/// The span that is chosen at first: a day.
pub(super) const USUAL_SPAN: &str = "24";
/// The posts that can be removed together: of how many days, and words. The last is the
/// most.
const REMOVED: [(&str, &Message); 4] =
    [("1", m!("last day")), ("7", m!("last week")), ("30", m!("last 30 days")), ("3650", m!("all time"))];
/// The number of days that is chosen at first: a week.
const USUAL_REMOVED: &str = "7";
/// The most neighbours that the page names.
const NEIGHBOURS: usize = 20;

/// The facts about a person for moderators.
pub struct PersonFile {
    notes: Vec<Note>,
    neighbourhood: Neighbourhood,
}

impl PersonFile {
    /// Reads the facts for a moderator; `None` for other viewers. Rounds: 7 for moderators,
    /// none for others.
    pub async fn read(visit: &mut Visit, person: &ProfileFacts) -> Result<Option<Self>> {
        let viewer = visit.recognise().await?;
        if viewer.is_none_or(|viewer| viewer.role() < Role::Moderator) {
            return Ok(None);
        }
        let notes = notes::notes_on(visit, person.user.id).await?;
        let neighbourhood = networks::neighbourhood_of(visit, &person.user.username).await?;
        Ok(Some(Self { notes, neighbourhood }))
    }

    /// The tools, with what is known above the forms.
    pub fn render(&self, frame: &Frame<'_>, person: &ProfileFacts) -> Markup {
        html! {
            @if is_moderator(frame) {
                details.tools.moderation-tools {
                    summary { (t!("For moderators")) }
                    p { a.action href=(person_address(&person.user.username)) { (t!("Posts, flags and decisions")) } }
                    (self.facts(frame, person))
                    @if may_moderate(frame, person.user.id) { (form(frame, person)) }
                }
            }
        }
    }

    /// The known facts: the history, the network and the notes.
    pub(super) fn facts(&self, frame: &Frame<'_>, person: &ProfileFacts) -> Markup {
        html! {
            (history(frame, person))
            (self.network())
            (self.notes(frame))
        }
    }

    fn network(&self) -> Markup {
        let Neighbourhood { tag, others, addresses } = &self.neighbourhood;
        html! {
            @match tag {
                None => p.hint { (t!("There is no record of where this person has posted from recently.")) },
                Some(tag) => {
                    @let tag = html! { code { (tag) } };
                    p {
                        @if others.is_empty() {
                            (t!("Network {tag}. Nobody else has posted from the same networks recently.", tag))
                        } @else {
                            (t!("Network {tag}. From the same networks: {people}.", tag, people = neighbours(others)))
                        }
                    }
                }
            }
            @if let Some(addresses) = addresses.as_ref().filter(|addresses| !addresses.is_empty()) {
                p.hint {
                    @let addresses = enumerated(addresses.iter().take(NEIGHBOURS).map(|(address, used)| {
                        html! { code { (address) } " (" (to_the_minute(*used)) ")" }
                    }));
                    (t!("Addresses, for administrators: {addresses}", addresses))
                }
            }
        }
    }

    fn notes(&self, frame: &Frame<'_>) -> Markup {
        html! {
            @if !self.notes.is_empty() {
                h2 { (t!("Notes")) }
                ul.person-notes role="list" {
                    @for note in &self.notes { li { (self.note(frame, note)) } }
                }
            }
        }
    }

    fn note(&self, frame: &Frame<'_>, note: &Note) -> Markup {
        html! {
            p.person-note dir="auto" { (note.text) }
            form.inline method="post" action="/moderate/undo" {
                (frame.signed_fields())
                input type="hidden" name="moderation_id" value=(note.id);
                input type="hidden" name="reason" value=(t!("No longer needed"));
                input type="hidden" name="next" value=(frame.way_back);
                span.hint { (enumerated([author(note.moderator.as_deref()), age(frame, note.time)])) }
                " "
                @let which = t!("the note of entry {id}", id = note.id.to_string());
                button.button.small.quiet { (label_of(t!("Delete"), which)) }
            }
        }
    }
}

/// The first of those who have posted from the same networks, and how many more there are.
fn neighbours(others: &[String]) -> Markup {
    let people = enumerated(others.iter().take(NEIGHBOURS).map(|name| author(Some(name))));
    match others.len().saturating_sub(NEIGHBOURS) {
        0 => people.render(),
        more => n!(more, "{people} and {count} other", "{people} and {count} others", people).render(),
    }
}

/// The history of a person in one line.
fn history(frame: &Frame<'_>, person: &ProfileFacts) -> Markup {
    let user = &person.user;
    html! {
        p {
            (t!(
                "Joined {age}, {figures}.",
                age = age(frame, user.ctime),
                figures = so_far(user.karma, [person.posted, person.comments, person.tweets]),
            ))
            " " a href="/moderations?kind=user" { (t!("Moderation log")) }
        }
        @if person.invited > 0 && user.restrictions.in_force(RestrictionKind::Ban, frame.now).is_some() {
            p {
                a href=(profile_address(&user.username, "/invited")) {
                    (n!(person.invited, "Check the {count} person they invited", "Check the {count} people they invited"))
                }
            }
        }
        @for kind in RestrictionKind::ALL {
            @if let Some(restriction) = user.restrictions.in_force(kind, frame.now) {
                p.notice { (in_force(kind, restriction)) }
            }
        }
    }
}

/// The karma of a person, and what they have posted: stories, comments and posts.
pub(super) fn so_far(karma: i64, [stories, comments, posts]: [u64; 3]) -> Phrase<'static> {
    p!(
        "{karma} karma, {stories}, {comments}, {posts}",
        karma,
        stories = n!(stories, "{count} story", "{count} stories"),
        comments = n!(comments, "{count} comment", "{count} comments"),
        posts = n!(posts, "{count} post", "{count} posts"),
    )
}

/// The options of a choice, in words.
pub(super) fn options(values: &[(&str, &'static Message)], usual: &str) -> Markup {
    html! {
        @for (value, words) in values { option value=(value) selected[*value == usual] { (words.text()) } }
    }
}

/// That a restriction is in force.
fn in_force(kind: RestrictionKind, restriction: &Restriction) -> Phrase<'_> {
    let until = restriction
        .until
        .map_or_else(|| p!("until further notice"), |until| t!("until {time}", time = to_the_minute(until)));
    let (entry, reason) = (restriction.moderation.to_string(), &restriction.reason);
    let words = match kind {
        RestrictionKind::Ban => m!("Banned {until} (entry {entry}): {reason}"),
        RestrictionKind::Silence => m!("Silenced {until} (entry {entry}): {reason}"),
        RestrictionKind::Hold => m!("Posts need approval {until} (entry {entry}): {reason}"),
        RestrictionKind::Discount => m!("Votes do not count {until} (entry {entry}): {reason}"),
    };
    Phrase::new(words).with("until", until).with("entry", entry).with("reason", reason)
}

/// The forms for a person whom the viewer may moderate.
pub(super) fn form(frame: &Frame<'_>, person: &ProfileFacts) -> Markup {
    let user = &person.user;
    let in_force: Vec<RestrictionKind> = RestrictionKind::ALL
        .into_iter()
        .filter(|kind| user.restrictions.in_force(*kind, frame.now).is_some())
        .collect();
    let is_moderator = user.given_role() == Role::Moderator;
    let state = user.state();
    let subject =
        ActionSubject { state, is_locked: false, is_pinned: false, is_moderator, in_force: &in_force };
    let is_administrator = frame.viewer.is_some_and(|viewer| viewer.role() == Role::Administrator);
    ActionForms {
        actions: &Action::fitting(&subject, is_administrator),
        own: &|action| match action {
            Action::RemoveAll => Some(remove_all_fields()),
            action => action.facts().is_private.then(Markup::default),
        },
        common: choice(t!("How long (silence, hold, votes and ban)"), "hours", (&SPANS, USUAL_SPAN)),
        next: &frame.way_back,
    }
    .render(frame, &Thing::User(user.username.as_str().into()))
}

/// The parts of a person that are removed together, each of them an entry of the log with its own undo.
fn remove_all_fields() -> Markup {
    let tick = |name: &str, label: &str, is_ticked: bool| {
        html! {
            label.choice {
                input type="checkbox" name=(name) value="1" checked[is_ticked];
                " " (label)
            }
        }
    };
    html! {
        input type="hidden" name="boxes" value="1";
        (tick("posts", t!("Remove everything they wrote"), true))
        (choice(t!("period" => "Of the"), "days", (&REMOVED, USUAL_REMOVED)))
        (tick("profile", t!("Remove the full name and the text of the profile"), false))
        (tick("ban", t!("Ban the person"), false))
        (choice(t!("How long (ban)"), "hours", (&SPANS, USUAL_SPAN)))
    }
}

/// A field with some values to choose from, in words.
fn choice(label: &str, name: &str, (values, usual): (&[(&str, &'static Message)], &str)) -> Markup {
    html! {
        label {
            span { (label) }
            select name=(name) { (options(values, usual)) }
        }
    }
}

answer! {
    /// Where somebody has signed up and posted from.
    pub struct NetworkResponse as Neighbourhood from (found: Neighbourhood) {
        status;
        /// The tag of the network that was used last; null if nothing is known. The same network
        /// always has the same tag, which tells nothing else about it.
        tag: Option<String> = found.tag.map(|tag| tag.to_string());
        /// Others who have signed up or posted from the same networks.
        others: Vec<String> = found.others, Vec<values::StoredUsername>;
        /// The addresses, the last one first: for administrators only.
        addresses?: Vec<UsedAddress> =
            found.addresses.map(|addresses| addresses.into_iter().map(UsedAddress::from).collect());
    }

    /// An address that somebody has used.
    pub struct UsedAddress from (used: (IpAddr, Timestamp)) {
        /// The address; for IPv6 the network of the subscriber.
        address: String = used.0.to_string();
        /// When it was used last, in Unix seconds.
        last_used: u64 = used.1.0;
    }
}

/// GET /api/moderate/network/{username}.
pub async fn network(PathOf(name): PathOf<String>, mut page: Page<Member>) -> Result<Json<NetworkResponse>> {
    let found = networks::neighbourhood_of(&mut page.visit, &name).await.map_err(unknown_name)?;
    Ok(Json(found.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::{assert_has, framed, user};
    use tidings_domain::values::{MAX_REMOVED_DAYS, ModerationId, Timestamp};

    fn page(viewer: &str, flags: &str) -> String {
        let person = ProfileFacts {
            user: user("2", "bob", "").into(),
            inviter: None,
            invited: 0,
            posted: 1,
            comments: 2,
            followers: 3,
            followings: 4,
            tweets: 0,
        };
        let note = Note {
            id: ModerationId(7),
            time: Timestamp(999_000),
            moderator: None,
            text: "argues <b>".to_owned(),
        };
        let neighbourhood = Neighbourhood { tag: None, others: Vec::new(), addresses: Some(Vec::new()) };
        let file = PersonFile { notes: vec![note], neighbourhood };
        let viewer = user(viewer, "viewer", flags);
        framed(Some(&viewer), |frame| file.render(frame, &person)).into_string()
    }

    #[test]
    fn a_moderator_sees_notes_and_forms_but_none_for_roles() {
        let html = page("3", "m");
        assert_has(
            &html,
            &[
                "argues &lt;b&gt;",
                r#"value="silence""#,
                r#"value="ban""#,
                r#"value="remove_all""#,
                "1 story, 2 comments",
            ],
        );
        assert!(!html.contains("make_moderator"), "{html}");
        assert!(page("3", "a").contains("make_moderator"));
    }

    #[test]
    fn the_most_days_can_be_chosen() {
        assert_eq!(REMOVED.last().map(|(days, _)| *days), Some(MAX_REMOVED_DAYS.to_string().as_str()));
    }

    #[test]
    fn nobody_has_forms_for_themselves_and_members_see_nothing() {
        assert!(!page("2", "m").contains(r#"value="silence""#));
        assert!(page("3", "").is_empty());
    }
}

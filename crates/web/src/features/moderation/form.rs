//! The fields of the moderators' actions, and the query for lines of the moderation log.

use super::flagging::reason_name;
use super::menu::PINNED_DAYS;
use crate::error::{RequestError, Result};
use crate::limits::LOG_ENTRIES;
use crate::request::form::{checked, filled, form, optional, parsed, text, unless_blank, valid};
use crate::request::{Fields, paging};
use strum::IntoEnumIterator;
use tidings_domain::Error;
use tidings_domain::moderation::log::LogWindow;
use tidings_domain::moderation::{ModerationRequest, SeenRow};
use tidings_domain::values::actions::parse_hours;
use tidings_domain::values::{
    Action, AppealText, Body, Deed, FlagReason, Hours, MAX_RAID_HOURS, MAX_REMOVED_DAYS, MAX_YOUNG_HOURS,
    ModerationId, NewsId, NewsUrl, Reason, Thing, Timestamp, Title, Topics,
};
use tidings_language::{Message, m};

form! {
    /// An action of a moderator.
    pub struct ModerationForm {
        /// The action.
        pub action: Action = action, values::ModerationAction;
        /// The kind of thing.
        pub kind: &'static str = |fields: &Fields, _| Ok(thing(fields)?.kind()), values::ThingKind;
        /// Which: a number; `7-3` for comment 3 of story 7; a username for a person.
        pub id: Thing = |fields: &Fields, _| thing(fields), values::ThingId;
        /// Why. Everybody can read it in the log, except for a note. `keep` and `approve` need none.
        pub reason: Reason = reason_of_action, values::Reason, required = false;
        /// How long `silence`, `hold`, `ban` and `discount` last; 0 or missing for permanent. How long `stop_signups` and
        /// `hold_young` last; at least 1, and at most 168.
        pub hours: Hours = hours, values::Hours, required = false;
        /// For `hold_young`, the age in hours below which an account is young.
        pub age: Option<u64> = unless_blank(checked(AGE, up_to(MAX_YOUNG_HOURS))), values::YoungAge, required = false;
        /// For `remove_all`, the posts of how many days. For `pin`, for how many days; 7 if it is missing.
        pub days: Option<u64> = unless_blank(checked(DAYS, up_to(MAX_REMOVED_DAYS))), values::RemovedDays, required = false;
        /// For `remove_all`: `0` to leave the posts; `1` by default.
        pub posts: bool = posts, values::Switch, required = false;
        /// For `remove_all`: `1` to also remove the full name and the text of the profile.
        pub profile: bool = switch, values::Switch, required = false;
        /// For `remove_all`: `1` to also ban the person, for so many `hours`.
        pub ban: bool = switch, values::Switch, required = false;
        /// For `merge`, the other story.
        pub into: Option<NewsId> = unless_blank(checked(STORY, other_story)), values::Id, required = false;
        /// For `edit`, the new title; missing to keep it.
        pub title: Option<Title> = unless_blank(valid(Title::parse)), values::Title, required = false;
        /// For `edit`, the new topics; missing to keep them.
        pub topics: Option<Topics> = optional(valid(Topics::parse)), values::TopicNames, required = false;
        /// For `edit`, the new URL; missing to keep it.
        pub url: Option<NewsUrl> = unless_blank(valid(NewsUrl::parse)), values::Url, required = false;
        /// For `edit` of a comment, or of a story without a URL, the new text; missing to keep it.
        pub text: Option<Body> = unless_blank(new_text), values::NewsText, required = false;
        /// For `erase`, the id again. Without it, the refusal names what would go.
        pub confirm: Option<Box<str>> = unless_blank(|fields: &Fields, name| Ok(fields.text(name).trim().into())), values::ThingId, required = false;
        /// `1` to be named "a moderator" to all but administrators.
        pub anonymous: bool = switch, values::Switch, required = false;
        /// `since` of the row of the review queue that the moderator saw. If the row has changed, the
        /// action is refused.
        pub since: Option<Timestamp> = unless_blank(time), u64, required = false;
        /// The row that `since` is of, such as `story:7`, if the action is about something else, such
        /// as the author.
        pub row: Option<Thing> = unless_blank(parsed(m!("it must be <kind>:<id>, such as story:7"))), values::QueueRow, required = false;
    }

    /// An action to undo.
    pub struct UndoForm {
        /// The line of the log.
        pub moderation_id: ModerationId = parsed(LINE), values::Id;
        /// Why.
        pub reason: Reason = valid(Reason::parse), values::Reason;
        /// `1` to be named "a moderator" to all but administrators.
        pub anonymous: bool = switch, values::Switch, required = false;
    }

    /// An appeal against a decision.
    pub struct AppealForm {
        /// The line of the log.
        pub moderation_id: ModerationId = parsed(LINE), values::Id;
        /// The text of the appeal.
        pub text: AppealText = valid(AppealText::parse), values::Appeal;
        /// The username, without a session: for who is banned.
        pub username: Option<String> = optional(text), values::StoredUsername, required = false;
        /// The password that goes with it.
        pub password: Option<String> = optional(text), String, required = false;
        /// A code of the authenticator app, or a recovery code, if the account has a second factor.
        pub code: Option<String> = optional(text), String, required = false;
    }

    /// The lines of the moderation log that are asked for.
    #[derive(Debug)]
    pub struct LogQuery {
        /// The maximum number of lines; 50 by default.
        pub count: usize = log_count, values::PageSize, required = false;
        /// Only lines before this one.
        pub before: Option<ModerationId> = optional(parsed(LINE)), values::Id, required = false;
        /// Only actions of this person.
        pub moderator: Option<String> = filled(text), values::StoredUsername, required = false;
        /// Only actions on this kind of thing.
        pub kind: Option<&'static str> = filled(checked(m!("it must be a kind of thing"), kind)), values::ThingKind, required = false;
        /// Only this action.
        pub action: Option<Action> = filled(checked(m!("it must be an action of moderators"), Action::named)), values::ModerationAction, required = false;
        /// Only actions that concern this person: on them, or on what they posted (moderators only).
        pub person: Option<String> = filled(text), values::StoredUsername, required = false;
        /// Only the parts of this batch. No other filter applies.
        pub part_of: Option<ModerationId> = filled(parsed(LINE)), values::Id, required = false;
    }
}

const AGE: &Message = m!("it must be a whole number of hours from 1 to 720");
const DAYS: &Message = m!("it must be a whole number from 1 to 3650");
const STORY: &Message = m!("it must be the number or the address of a story");

fn action(fields: &Fields, name: &'static str) -> Result<Action> {
    checked(m!("it must be an action"), Action::named)(fields, name)
}

/// The reason, which must be there if the action needs one.
fn reason_of_action(fields: &Fields, name: &'static str) -> Result<Reason> {
    if !action(fields, "action")?.facts().needs_no_reason {
        fields.required(name)?;
    }
    Ok(Reason::parse(fields.text(name)).map_err(Error::from)?)
}

/// Whether posts go. A form with boxes says that it has them, because a browser does not send an empty box.
fn posts(fields: &Fields, name: &'static str) -> Result<bool> {
    let is_box = fields.get("boxes").is_some();
    if fields.get(name).is_none() { Ok(!is_box) } else { switch(fields, name) }
}

/// How long something lasts: 0, or nothing, is permanent.
pub fn hours(fields: &Fields, name: &'static str) -> Result<Hours> {
    let given = fields.get(name).filter(|text| !text.trim().is_empty());
    given.map_or(Ok(None), parse_hours).map_err(|_| {
        let expected = m!("it must be a whole number of hours, at most ten years, or 0 (permanently)");
        RequestError::field(name, expected)
    })
}

impl ModerationForm {
    /// The requested actions: one, or up to three for `remove_all`. The ban is the first, so that nothing is
    /// posted meanwhile.
    ///
    /// # Errors
    /// When a field of the action is missing.
    pub fn requests(self) -> Result<Vec<ModerationRequest>> {
        let deeds = if self.action == Action::RemoveAll { self.removals()? } else { vec![self.deed()?] };
        let Self { action, id, reason, anonymous, since, row, .. } = self;
        let mut seen = since.map(|since| SeenRow { thing: row, since });
        // The queue suggests the reason of a flag for taking away. It is none for letting something stay, and the log is public.
        let lets_stay = seen.is_some() && matches!(action, Action::Keep | Action::Approve);
        let is_suggested = |flag| reason.as_str() == reason_name(flag);
        let is_none = lets_stay && FlagReason::iter().any(is_suggested);
        let reason = if is_none { Reason::default() } else { reason };
        let request = |deed| {
            let (thing, reason) = (id.clone(), reason.clone());
            // The first action settles the row.
            ModerationRequest { deed, thing, reason, anonymous, seen: seen.take() }
        };
        Ok(deeds.into_iter().map(request).collect())
    }

    /// The actions of `remove_all`.
    fn removals(&self) -> Result<Vec<Deed>> {
        let mut deeds = Vec::new();
        if self.ban {
            deeds.push(Deed::Ban(self.hours));
        }
        if self.posts {
            deeds.push(Deed::RemoveAll(self.days.ok_or(RequestError::missing("days"))?));
        }
        if self.profile {
            deeds.push(Deed::Remove);
        }
        RequestError::field("posts", m!("choose at least one of posts, profile and ban"))
            .when(deeds.is_empty())?;
        Ok(deeds)
    }

    /// Any other action.
    fn deed(&self) -> Result<Deed> {
        let (hours, missing) = (self.hours, RequestError::missing);
        Ok(match self.action {
            Action::Erase => Deed::Erase(self.confirm.clone()),
            Action::Edit => {
                let (title, topics) = (self.title.clone(), self.topics.clone());
                let (url, text) = (self.url.clone(), self.text.clone());
                if title.is_none() && topics.is_none() && url.is_none() && text.is_none() {
                    return Err(missing(if let Thing::Comment(_) = self.id { "text" } else { "title" }));
                }
                Deed::Edit { title, topics, url, text }
            }
            Action::Merge => Deed::Merge(self.into.ok_or(missing("into"))?),
            Action::Hold => Deed::Hold(hours),
            Action::Silence => Deed::Silence(hours),
            Action::Ban => Deed::Ban(hours),
            Action::Discount => Deed::Discount(hours),
            Action::Pin => Deed::Pin(self.days.unwrap_or(PINNED_DAYS)),
            Action::StopSignups => Deed::StopSignups(raid_hours(hours)?),
            Action::HoldYoung => {
                Deed::HoldYoung { age: self.age.ok_or(missing("age"))?, hours: raid_hours(hours)? }
            }
            action => {
                let own_call = RequestError::field("action", m!("this action has a call of its own"));
                action.plain().filter(|_| !action.facts().has_own_call).ok_or(own_call)?
            }
        })
    }
}

/// The hours of a measure against a raid, which has an end.
fn raid_hours(hours: Hours) -> Result<u64> {
    let expected = m!("it must be a whole number of hours from 1 to 168");
    hours.filter(|hours| *hours <= MAX_RAID_HOURS).ok_or(RequestError::field("hours", expected))
}

/// The new text of a comment, or of a story without a URL.
fn new_text(fields: &Fields, name: &'static str) -> Result<Body> {
    let is_comment = matches!(thing(fields)?, Thing::Comment(_));
    let parse = if is_comment { Body::parse_comment } else { Body::parse_text };
    Ok(parse(fields.text(name)).map_err(Error::from)?)
}

const LINE: &Message = m!("it must be the number of an entry of the log");

fn log_count(fields: &Fields, name: &'static str) -> Result<usize> {
    Ok(optional(paging::count)(fields, name)?.unwrap_or(LOG_ENTRIES))
}

fn kind(name: &str) -> Option<&'static str> {
    Thing::KINDS.into_iter().find(|known| *known == name)
}

impl From<LogQuery> for LogWindow {
    fn from(LogQuery { count, before, moderator, kind, action, person, part_of }: LogQuery) -> Self {
        Self { before, count, moderator, kind, action, concerns: None, person, part_of }
    }
}

/// The thing in the fields `kind` and `id`.
pub fn thing(fields: &Fields) -> Result<Thing> {
    let kind = fields.required("kind")?;
    if !Thing::KINDS.contains(&kind) {
        let expected = m!("it must be story, comment, tweet, user, application, appeal or message");
        return Err(RequestError::field("kind", expected));
    }
    Thing::parse(kind, fields.required("id")?).map_err(|_| {
        RequestError::field(
            "id",
            m!("it must be a number, <news id>-<comment id> for a comment, or a username"),
        )
    })
}

/// A switch: 1 is on; 0, or nothing, is off.
pub fn switch(fields: &Fields, name: &'static str) -> Result<bool> {
    match fields.text(name) {
        "" | "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(RequestError::field(name, m!("it must be 0 or 1"))),
    }
}

/// A time in Unix seconds.
pub fn time(fields: &Fields, name: &'static str) -> Result<Timestamp> {
    fields.parsed(name, m!("it must be a time in whole seconds")).map(Timestamp)
}

/// A whole number, at least 1.
fn up_to(most: u64) -> impl Fn(&str) -> Option<u64> {
    move |text| text.trim().parse().ok().filter(|number| (1..=most).contains(number))
}

fn other_story(text: &str) -> Option<NewsId> {
    let number = text.trim().rsplit_once("/news/").map_or(text.trim(), |(_, number)| number);
    let number = number.split(['?', '#', '/']).next().unwrap_or_default();
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_action_without_a_call_of_its_own_can_be_asked_for() {
        for action in Action::ALL {
            let fields = format!(
                "kind=story&id=7&action={action}&reason=r&hours=24&age=48&days=3&into=8&title=A+title&confirm=7"
            );
            let form = Fields::parse(fields.as_bytes()).unwrap().read::<ModerationForm>().unwrap();
            let asked = form.requests().map(|requests| requests[0].deed.action());
            assert_eq!(asked.ok(), (!action.facts().has_own_call).then_some(*action), "{action}");
        }
    }

    #[test]
    fn the_reason_of_a_flag_is_none_for_keeping() {
        for (action, reason, given) in [
            ("keep", "spam", ""),
            ("approve", "broken+link", ""),
            ("keep", "a+good+story", "a good story"),
            ("remove", "spam", "spam"),
        ] {
            let fields = format!("kind=story&id=7&action={action}&since=5&reason={reason}");
            let form = Fields::parse(fields.as_bytes()).unwrap().read::<ModerationForm>().unwrap();
            assert_eq!(form.requests().unwrap()[0].reason.as_str(), given, "{fields}");
        }
    }
}

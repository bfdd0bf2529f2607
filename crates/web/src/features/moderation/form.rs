//! The fields of the moderators' actions, and the query for lines of the moderation log.

use super::flagging::reason_name;
use crate::error::RequestError;
use crate::limits::LOG_ENTRIES;
use crate::request::form::{Fields, FromFields, form, parse, parsed, valid};
use crate::request::{paging, values};
use strum::IntoEnumIterator;
use tidings_domain::Error;
use tidings_domain::moderation::log::LogWindow;
use tidings_domain::moderation::{ModerationRequest, SeenRow};
use tidings_domain::values::actions::{Action, Deed, Hours, parse_hours};
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::flag::FlagReason;
use tidings_domain::values::ids::{ModerationId, NewsId};
use tidings_domain::values::limits::{MAX_RAID_HOURS, MAX_REMOVED_DAYS, MAX_YOUNG_HOURS};
use tidings_domain::values::moderation::{AppealText, Reason, Thing};
use tidings_domain::values::text::{Body, InputError, Title};
use tidings_domain::values::topic::Topics;
use tidings_domain::values::urls::NewsUrl;
use utoipa::{IntoParams, ToSchema};

/// An action of a moderator.
#[derive(ToSchema)]
pub struct ModerationForm {
    /// The action.
    #[schema(value_type = values::ModerationAction)]
    pub action: Action,
    /// The kind of thing.
    #[schema(value_type = values::ThingKind)]
    pub kind: &'static str,
    /// Which: a number; `7-3` for comment 3 of story 7; a username for a person.
    #[schema(value_type = values::ThingId)]
    pub id: Thing,
    /// Why. Everybody can read it in the log, except for a note. `keep` and `approve` need none.
    #[schema(value_type = values::Reason, required = false)]
    pub reason: Reason,
    /// How long `silence`, `hold`, `ban` and `discount` last; 0 or missing for ever. How long `stop_signups` and
    /// `hold_young` last; at least 1, and at most 168.
    #[schema(value_type = values::Hours, required = false)]
    pub hours: Hours,
    /// For `hold_young`, the age in hours below which an account is young.
    #[schema(value_type = values::YoungAge, required = false)]
    pub age: Option<u64>,
    /// For `remove_all`, the posts of how many days.
    #[schema(value_type = values::RemovedDays, required = false)]
    pub days: Option<u64>,
    /// For `remove_all`: `0` to leave the posts; `1` by default.
    #[schema(value_type = values::Switch, required = false)]
    pub posts: bool,
    /// For `remove_all`: `1` to also remove the full name and the text of the profile.
    #[schema(value_type = values::Switch, required = false)]
    pub profile: bool,
    /// For `remove_all`: `1` to also ban the person, for so many `hours`.
    #[schema(value_type = values::Switch, required = false)]
    pub ban: bool,
    /// For `merge`, the other story.
    #[schema(value_type = values::Id, required = false)]
    pub into: Option<NewsId>,
    /// For `edit`, the new title; missing to keep it.
    #[schema(value_type = values::Title, required = false)]
    pub title: Option<Title>,
    /// For `edit`, the new topics; missing to keep them.
    #[schema(value_type = values::TopicNames, required = false)]
    pub topics: Option<Topics>,
    /// For `edit`, the new URL; missing to keep it.
    #[schema(value_type = values::Url, required = false)]
    pub url: Option<NewsUrl>,
    /// For `edit` of a comment, or of a story without a URL, the new text; missing to keep it.
    #[schema(value_type = values::NewsText, required = false)]
    pub text: Option<Body>,
    /// For `erase`, the id again. Without it, the refusal names what would go.
    #[schema(value_type = values::ThingId, required = false)]
    pub confirm: Option<Box<str>>,
    /// `1` to be named "a moderator" to all but administrators.
    #[schema(value_type = values::Switch, required = false)]
    pub anonymous: bool,
    /// `since` of the row of the review queue that the moderator saw. If the row has changed, the
    /// action is refused.
    #[schema(value_type = u64, required = false)]
    pub since: Option<Timestamp>,
    /// The row that `since` is of, such as `story:7`, if the action is about something else, such
    /// as the author.
    #[schema(value_type = values::QueueRow, required = false)]
    pub row: Option<Thing>,
}

impl FromFields for ModerationForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        let action = Action::named(fields.required("action")?);
        let action = action.ok_or(RequestError::field("action", "it must be an action"))?;
        let id = thing(fields)?;
        if !action.facts().needs_no_reason {
            fields.required("reason")?;
        }
        let given = |name: &str| fields.get(name).filter(|text| !text.trim().is_empty());
        Ok(Self {
            action,
            kind: id.kind(),
            reason: reason(fields)?,
            hours: hours(fields, "hours")?,
            age: given("age").map(age).transpose()?,
            days: given("days").map(days).transpose()?,
            // A form with boxes says so, because a browser does not send an empty box.
            posts: match fields.get("posts") {
                None => fields.get("boxes").is_none(),
                Some(_) => switch(fields, "posts")?,
            },
            profile: switch(fields, "profile")?,
            ban: switch(fields, "ban")?,
            into: given("into").map(other_story).transpose()?,
            title: given("title").map(Title::parse).transpose().map_err(Error::from)?,
            topics: fields.get("topics").map(Topics::parse).transpose().map_err(Error::from)?,
            url: given("url").map(NewsUrl::parse).transpose().map_err(Error::from)?,
            text: given("text").map(|text| new_text(&id, text)).transpose().map_err(Error::from)?,
            confirm: given("confirm").map(|id| id.trim().into()),
            anonymous: switch(fields, "anonymous")?,
            since: given("since").map(since).transpose()?,
            row: given("row").map(row).transpose()?,
            id,
        })
    }
}

/// How long something lasts: 0, or nothing, is forever.
pub fn hours(fields: &Fields, name: &'static str) -> Result<Hours, RequestError> {
    let given = fields.get(name).filter(|text| !text.trim().is_empty());
    given.map_or(Ok(None), parse_hours).map_err(|_| {
        RequestError::field(name, "it must be a whole number of hours, at most ten years, or 0 (permanently)")
    })
}

impl ModerationForm {
    /// The requested actions: one, or up to three for `remove_all`. The ban is the first, so that nothing is
    /// posted meanwhile.
    ///
    /// # Errors
    /// When a field of the action is missing.
    pub fn requests(self) -> Result<Vec<ModerationRequest>, RequestError> {
        let Self { posts, profile, ban, hours, .. } = self;
        if self.action != Action::RemoveAll {
            return Ok(vec![self.try_into()?]);
        }
        let mut deeds = Vec::new();
        if ban {
            deeds.push(Deed::Ban(hours));
        }
        if posts {
            deeds.push(Deed::RemoveAll(self.days.ok_or(MISSING_DAYS)?));
        }
        if profile {
            deeds.push(Deed::Remove);
        }
        if deeds.is_empty() {
            return Err(RequestError::field("posts", "choose at least one of posts, profile and ban"));
        }
        let mut seen = self.since.map(|since| SeenRow { thing: self.row, since });
        let request = |deed| {
            let (thing, reason, anonymous) = (self.id.clone(), self.reason.clone(), self.anonymous);
            // The first action settles the row.
            ModerationRequest { deed, thing, reason, anonymous, seen: seen.take() }
        };
        Ok(deeds.into_iter().map(request).collect())
    }
}

/// The posts of how many days are removed must be said.
const MISSING_DAYS: RequestError = RequestError::field("days", RequestError::MISSING);

impl TryFrom<ModerationForm> for ModerationRequest {
    type Error = RequestError;

    /// The requested action.
    fn try_from(form: ModerationForm) -> Result<Self, RequestError> {
        let missing = |name| RequestError::field(name, RequestError::MISSING);
        let ModerationForm { hours, title, topics, url, text, .. } = form;
        let deed = match form.action {
            Action::Erase => Deed::Erase(form.confirm),
            Action::Edit if title.is_none() && topics.is_none() && url.is_none() && text.is_none() => {
                return Err(missing(if matches!(form.id, Thing::Comment(_)) { "text" } else { "title" }));
            }
            Action::Edit => Deed::Edit { title, topics, url, text },
            Action::Merge => Deed::Merge(form.into.ok_or_else(|| missing("into"))?),
            Action::Hold => Deed::Hold(hours),
            Action::Silence => Deed::Silence(hours),
            Action::Ban => Deed::Ban(hours),
            Action::RemoveAll => Deed::RemoveAll(form.days.ok_or(MISSING_DAYS)?),
            Action::Discount => Deed::Discount(hours),
            Action::StopSignups => Deed::StopSignups(raid_hours(hours)?),
            Action::HoldYoung => {
                Deed::HoldYoung { age: form.age.ok_or_else(|| missing("age"))?, hours: raid_hours(hours)? }
            }
            action => {
                let own_call = RequestError::field("action", "this action has a call of its own");
                action.plain().filter(|_| !action.facts().has_own_call).ok_or(own_call)?
            }
        };
        let seen = form.since.map(|since| SeenRow { thing: form.row, since });
        // The queue suggests the reason of a flag for taking away. It is none for letting something stay, and the log is public.
        let lets_stay = seen.is_some() && matches!(form.action, Action::Keep | Action::Approve);
        let is_suggested = |reason| form.reason.as_str() == reason_name(reason);
        let reason = if lets_stay && FlagReason::iter().any(is_suggested) {
            Reason::default()
        } else {
            form.reason.clone()
        };
        Ok(Self { deed, thing: form.id, reason, anonymous: form.anonymous, seen })
    }
}

/// The hours of a measure against a raid, which has an end.
fn raid_hours(hours: Hours) -> Result<u64, RequestError> {
    let expected = "it must be a whole number of hours from 1 to 168";
    hours.filter(|hours| *hours <= MAX_RAID_HOURS).ok_or(RequestError::field("hours", expected))
}

/// The age in hours below which an account is young.
fn age(text: &str) -> Result<u64, RequestError> {
    let age = text.trim().parse().ok().filter(|age| (1..=MAX_YOUNG_HOURS).contains(age));
    age.ok_or(RequestError::field("age", "it must be a whole number of hours from 1 to 720"))
}

/// The new text of a comment, or of a story without a URL.
fn new_text(id: &Thing, text: &str) -> Result<Body, InputError> {
    if matches!(id, Thing::Comment(_)) { Body::parse_comment(text) } else { Body::parse_text(text) }
}

form! {
    /// An action to undo.
    pub struct UndoForm {
        /// The line of the log.
        pub moderation_id: ModerationId = parsed("it must be the number of a line of the log"), values::Id;
        /// Why.
        pub reason: Reason = valid(Reason::parse), values::Reason;
        /// `1` to be named "a moderator" to all but administrators.
        pub anonymous: bool = switch, values::Switch, required = false;
    }
}

/// An appeal against a decision.
#[derive(ToSchema)]
pub struct AppealForm {
    /// The line of the log.
    #[schema(value_type = values::Id)]
    pub moderation_id: ModerationId,
    /// The text of the appeal.
    #[schema(value_type = values::Appeal)]
    pub text: AppealText,
    /// The username, without a session: for who is banned.
    #[schema(value_type = values::StoredUsername, required = false)]
    pub username: Option<String>,
    /// The password that goes with it.
    #[schema(value_type = String, required = false)]
    pub password: Option<Password>,
    /// A code of the authenticator app, or a recovery code, if the account has a second factor.
    #[schema(value_type = String, required = false)]
    pub code: Option<Password>,
}

/// A password that somebody has typed. Never logged.
#[derive(Clone)]
pub struct Password(pub String);

impl FromFields for AppealForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        let moderation_id = fields.parsed("moderation_id", "it must be the number of a line of the log")?;
        let text = AppealText::parse(fields.required("text")?).map_err(Error::from)?;
        let given = |name: &str| fields.get(name).map(str::to_owned);
        Ok(Self {
            moderation_id,
            text,
            username: given("username"),
            password: given("password").map(Password),
            code: given("code").map(Password),
        })
    }
}

/// The lines of the moderation log that are asked for.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// The maximum number of lines; 50 by default.
    #[param(value_type = values::PageSize, required = false)]
    pub count: usize,
    /// Only lines before this one.
    #[param(value_type = values::Id, required = false)]
    pub before: Option<ModerationId>,
    /// Only actions of this person.
    #[param(value_type = values::StoredUsername, required = false)]
    pub moderator: Option<String>,
    /// Only actions on this kind of thing.
    #[param(value_type = values::ThingKind, required = false)]
    pub kind: Option<&'static str>,
    /// Only this action.
    #[param(value_type = values::ModerationAction, required = false)]
    pub action: Option<Action>,
    /// Only actions that concern this person: on them, or on what they posted (moderators only).
    #[param(value_type = values::StoredUsername, required = false)]
    pub person: Option<String>,
    /// Only the parts of this batch. No other filter applies.
    #[param(value_type = values::Id, required = false)]
    pub part_of: Option<ModerationId>,
}

impl FromFields for LogQuery {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        // A form without a choice sends empty fields.
        let kind = |kind: &str| Thing::KINDS.into_iter().find(|known| *known == kind);
        let kind = fields
            .filled("kind")
            .map(|name| kind(name).ok_or(RequestError::field("kind", "it must be a kind of thing")));
        let action = fields.filled("action").map(|name| {
            Action::named(name).ok_or(RequestError::field("action", "it must be an action of moderators"))
        });
        Ok(Self {
            count: if fields.get("count").is_some() { paging::count(fields)? } else { LOG_ENTRIES },
            before: fields.parsed_optional("before", "it must be the number of a line of the log")?,
            moderator: fields.filled("moderator").map(str::to_owned),
            kind: kind.transpose()?,
            action: action.transpose()?,
            person: fields.filled("person").map(str::to_owned),
            part_of: fields.filled("part_of").map(part_of).transpose()?,
        })
    }
}

impl From<LogQuery> for LogWindow {
    fn from(LogQuery { count, before, moderator, kind, action, person, part_of }: LogQuery) -> Self {
        Self { before, count, moderator, kind, action, concerns: None, person, part_of }
    }
}

fn part_of(text: &str) -> Result<ModerationId, RequestError> {
    text.parse().map_err(|_| RequestError::field("part_of", "it must be the number of a line of the log"))
}

/// The thing in the fields `kind` and `id`.
pub fn thing(fields: &Fields) -> Result<Thing, RequestError> {
    let kind = fields.required("kind")?;
    if !Thing::KINDS.contains(&kind) {
        let expected = "it must be story, comment, tweet, user, application, appeal or message";
        return Err(RequestError::field("kind", expected));
    }
    Thing::parse(kind, fields.required("id")?).map_err(|_| {
        RequestError::field("id", "it must be a number, <news id>-<comment id> for a comment, or a username")
    })
}

/// The field `reason`; empty if it is missing.
pub fn reason(fields: &Fields) -> Result<Reason, RequestError> {
    Ok(Reason::parse(fields.text("reason")).map_err(Error::from)?)
}

/// A switch: 1 is on; 0, or nothing, is off.
pub fn switch(fields: &Fields, name: &'static str) -> Result<bool, RequestError> {
    match fields.text(name) {
        "" | "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(RequestError::field(name, "it must be 0 or 1")),
    }
}

fn since(text: &str) -> Result<Timestamp, RequestError> {
    text.parse()
        .map(Timestamp)
        .map_err(|_| RequestError::field("since", "it must be a time in whole seconds"))
}

fn row(text: &str) -> Result<Thing, RequestError> {
    parse(text, "row", "it must be <kind>:<id>, such as story:7")
}

fn days(text: &str) -> Result<u64, RequestError> {
    let days = text.trim().parse().ok().filter(|days| (1..=MAX_REMOVED_DAYS).contains(days));
    days.ok_or(RequestError::field("days", "it must be a whole number from 1 to 3650"))
}

fn other_story(text: &str) -> Result<NewsId, RequestError> {
    let number = text.trim().rsplit_once("/news/").map_or(text.trim(), |(_, number)| number);
    let number = number.split(['?', '#', '/']).next().unwrap_or_default();
    parse(number, "into", "it must be the number or the address of a story")
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
            let asked = ModerationRequest::try_from(form).map(|request| request.deed.action());
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
            let request = ModerationRequest::try_from(form).unwrap();
            assert_eq!(request.reason.as_str(), given, "{fields}");
        }
    }
}

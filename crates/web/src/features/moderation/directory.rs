//! The directory of accounts: what is asked for, finding it, and the calls. Its page shows the same.

use super::form::{hours, switch};
use crate::markup::{Member, Page};
use crate::request::form::{form, parsed, unless_blank, valid};
use crate::request::{Fields, SignedFields, answer, paging};
use crate::{App, RequestError, Result};
use axum::Json;
use tidings_domain::accounts::people;
use tidings_domain::changes::Findable;
use tidings_domain::moderation::directory::{self, AccountRow, AccountState, DoneForAll, RowFilter};
use tidings_domain::values::{
    Action, DIRECTORY_DEPTH, DIRECTORY_ROWS, Day, Deed, Hours, MAX_REMOVED_DAYS, NetworkTag, Reason,
    Timestamp, TrustRules, UserId,
};
use tidings_domain::{Role, Site, User, Visit};
use tidings_language::m;
use tidings_search::accounts::{AccountOrder, AccountQuestion};

/// The prefix of the names of the checkboxes. Each person has one, with their number; its value is their username.
pub const BOX: &str = "person.";

form! {
    /// The accounts that are asked for.
    #[derive(Debug, Default)]
    pub struct DirectoryQuery {
        /// The maximum number of accounts, up to 50, which is the default.
        pub count: usize = |fields: &Fields, name| Ok(unless_blank(paging::count)(fields, name)?.unwrap_or(DIRECTORY_ROWS).min(DIRECTORY_ROWS)), values::PageSize, required = false;
        /// `next` of the part before.
        pub before: Option<u64> = unless_blank(parsed(m!("it must be what next was"))), values::Id, required = false;
        /// The beginning of a username or of a part of a full name; for administrators also of an e-mail address. Without
        /// search, a whole username.
        pub q: String = trimmed, values::StoredUsername, required = false;
        /// A state.
        pub state: Option<AccountState> = unless_blank(parsed(m!("it must be new, silenced, banned, held, deactivated or staff"))), values::AccountState, required = false;
        /// Those who have posted from the network with this tag in the last 30 days.
        pub network: Option<NetworkTag> = unless_blank(parsed(m!("it must be the tag of a network, 12 hexadecimal digits"))), values::NetworkTag, required = false;
        /// Those whom this person has invited.
        pub invited_by: String = trimmed, values::StoredUsername, required = false;
        /// Accounts that were made on this day or later, such as `2026-11-01`.
        pub since: Option<Day> = unless_blank(parsed(m!("it must be a date like 2026-11-01"))), values::Date, required = false;
        /// The order; the newest, the highest karma, or the last visit first.
        pub sort: AccountOrder = |fields: &Fields, name| Ok(unless_blank(parsed(m!("it must be age, karma or activity")))(fields, name)?.unwrap_or_default()), values::AccountOrder, required = false;
        /// `1` for a page on which everybody but moderators and administrators is chosen.
        pub all: bool = |fields: &Fields, name| Ok(unless_blank(switch)(fields, name)?.unwrap_or_default()), values::Switch, required = false;
    }

    /// An action on several people.
    pub struct DirectoryForm {
        /// The people: usernames with commas between them, at most 50. If there are line ends, those are between them, and
        /// commas belong to the names.
        pub usernames: Vec<String> = people_chosen, values::Usernames;
        /// The action: `ban`, `silence` or `note`.
        pub action: Deed = deed, values::DirectoryAction;
        /// Why; the text of a note.
        pub reason: Reason = valid(Reason::parse), values::Reason;
        /// How long a ban or a silence lasts; 0 or missing for permanent.
        pub hours: Hours = hours, values::Hours, required = false;
        /// `1` to also remove all that those who are banned have posted.
        pub remove: bool = removes, values::Switch, required = false;
    }
}

// A form without a choice sends empty fields.
fn trimmed(fields: &Fields, name: &'static str) -> Result<String> {
    Ok(fields.text(name).trim().to_owned())
}

/// A part of the directory.
pub struct DirectoryPart {
    /// The accounts.
    pub rows: Vec<AccountRow>,
    /// The value of `before` for the next part.
    pub next: Option<u64>,
    /// How many accounts match; `None` if the search index has not answered.
    pub total: Option<usize>,
    /// Whether the viewer is an administrator.
    pub shows_addresses: bool,
}

/// The accounts that are asked for. Rounds: at most 5, and those of who the viewer is.
///
/// # Errors
/// [`ModeratorsOnly`](tidings_domain::Refusal::ModeratorsOnly); a filter that needs the search index, where there is none; or the store's.
pub async fn find(app: &App, visit: &mut Visit, query: &DirectoryQuery) -> Result<DirectoryPart> {
    let shows_addresses = directory::demand(visit).await? == Role::Administrator;
    let inviter = match &*query.invited_by {
        "" => None,
        name => {
            let found = people::id_of(visit, name).await;
            Some(found.map_err(|_| RequestError::field("invited_by", m!("nobody has this username")))?)
        }
    };
    let since = query.since.map(Day::start);
    let filter = RowFilter { state: query.state, invited_by: inviter, since };
    let of_network = match &query.network {
        None => None,
        Some(tag) => Some(directory::of_network(&app.site, visit.now(), tag).await?),
    };
    let (ids, next, total) = match app.search.get() {
        Some(searching) if searching.preparing().is_none() => {
            let rules = &app.site.rules.trust;
            let question =
                question(query, (filter, of_network.as_deref()), (rules, visit.now()), shows_addresses);
            let skipped = question.page.0;
            let found = searching.run(move |index, _| index.accounts(&question)).await?;
            let ids = found.ids.iter().filter_map(|id| match id.parse() {
                Ok(Findable::Person(id)) => Some(id),
                _ => None,
            });
            let ids: Vec<UserId> = ids.collect();
            let shown = skipped + ids.len();
            let has_more = shown < found.total.min(DIRECTORY_DEPTH) && !ids.is_empty();
            (ids, has_more.then_some(shown as u64), Some(found.total))
        }
        _ => {
            let (ids, next) = unsearched((&app.site, visit), query, of_network).await?;
            (ids, next, None)
        }
    };
    let rows = directory::rows(visit, &ids, filter).await?;
    Ok(DirectoryPart { rows, next, total, shows_addresses })
}

/// The query for the search index.
fn question(
    query: &DirectoryQuery,
    (filter, of_network): (RowFilter, Option<&[UserId]>),
    (rules, now): (&TrustRules, Timestamp),
    finds_addresses: bool,
) -> AccountQuestion {
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let skipped =
        query.before.and_then(|before| usize::try_from(before).ok()).unwrap_or(0).min(DIRECTORY_DEPTH);
    let mut question = AccountQuestion {
        ids: of_network.map(|ids| ids.iter().map(|id| Findable::Person(*id).to_string()).collect()),
        since: filter.since.map(|since| signed(since.0)),
        order: query.sort,
        page: (skipped, query.count),
        ..AccountQuestion::default()
    };
    let beginning = query.q.to_lowercase();
    if !beginning.is_empty() {
        question.beginnings.push(format!("name:{beginning}"));
        if finds_addresses {
            question.beginnings.push(format!("email:{beginning}"));
        }
    }
    question.all.extend(filter.invited_by.map(|inviter| format!("invited_by:{inviter}")));
    match filter.state {
        None => {}
        Some(AccountState::New) => {
            question.none = ["staff", "established", "deactivated"].map(str::to_owned).into();
            question.young = Some((signed(now.0.saturating_sub(rules.days * 86_400)), rules.karma));
        }
        Some(state) => question.all.push(state.name().to_owned()),
    }
    question
}

/// Without an index: the newest accounts, those of a network, or the one with a name. Rounds: 1.
async fn unsearched(
    (site, visit): (&Site, &mut Visit),
    query: &DirectoryQuery,
    of_network: Option<Vec<UserId>>,
) -> Result<(Vec<UserId>, Option<u64>)> {
    let DirectoryQuery { state, invited_by, since, sort, .. } = query;
    let needs = [
        ("state", state.is_some()),
        ("invited_by", !invited_by.is_empty()),
        ("since", since.is_some()),
        ("sort", *sort != AccountOrder::Age),
    ];
    if let Some((name, _)) = needs.into_iter().find(|(_, is_needed)| *is_needed) {
        let expected = m!("this needs the search, which is off or not ready. Leave it empty");
        return Err(RequestError::field(name, expected));
    }
    if !query.q.is_empty() {
        return Ok((people::id_of(visit, &query.q).await.into_iter().collect(), None));
    }
    let before = query.before.map(UserId);
    let mut ids = match of_network {
        Some(mut people) => {
            people.retain(|id| before.is_none_or(|before| *id < before));
            people
        }
        None => directory::newest(site, before, query.count + 1).await?,
    };
    let has_more = ids.len() > query.count;
    ids.truncate(query.count);
    let next = ids.last().filter(|_| has_more).map(|UserId(id)| *id);
    Ok((ids, next))
}

/// The people in the field, and those whose boxes are ticked.
fn people_chosen(fields: &Fields, name: &'static str) -> Result<Vec<String>> {
    let boxes = fields.iter().filter(|(name, _)| name.starts_with(BOX)).map(|(_, username)| username);
    let typed = fields.text(name);
    let separator = if typed.contains('\n') { '\n' } else { ',' };
    let typed = typed.split(separator).map(str::trim).filter(|name| !name.is_empty());
    let mut usernames: Vec<String> = Vec::new();
    for name in typed.chain(boxes) {
        if !usernames.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            usernames.push(name.to_owned());
        }
    }
    if usernames.is_empty() {
        fields.required(name)?;
    }
    RequestError::field(name, m!("choose at least one person, and at most 50"))
        .when(usernames.is_empty() || usernames.len() > DIRECTORY_ROWS)?;
    Ok(usernames)
}

fn deed(fields: &Fields, name: &'static str) -> Result<Deed> {
    let hours = hours(fields, "hours")?;
    match fields.required(name)? {
        "ban" => Ok(Deed::Ban(hours)),
        "silence" => Ok(Deed::Silence(hours)),
        "note" => Ok(Deed::Note),
        _ => Err(RequestError::field(name, m!("it must be ban, silence or note"))),
    }
}

fn removes(fields: &Fields, name: &'static str) -> Result<bool> {
    let removes = switch(fields, name)?;
    RequestError::field(name, m!("only a ban removes what people have posted"))
        .when(removes && deed(fields, "action")?.action() != Action::Ban)?;
    Ok(removes)
}

impl DirectoryForm {
    /// The actions on each person. The ban is first, so that nothing is posted meanwhile.
    fn deeds(&self) -> Vec<Deed> {
        let removal = self.remove.then_some(Deed::RemoveAll(MAX_REMOVED_DAYS));
        std::iter::once(self.action.clone()).chain(removal).collect()
    }
}

/// Does the same to several people, for both the form and the API.
pub async fn act(app: &App, (visit, user): (&mut Visit, &User), form: &DirectoryForm) -> Result<DoneForAll> {
    let deeds = form.deeds();
    let asked = (&form.usernames[..], &deeds[..], &form.reason);
    Ok(user.once(&app.site, directory::act_on_all(visit, app.moment(), asked)).await?)
}

answer! {
    /// A part of the directory of accounts.
    pub struct DirectoryResponse as Directory from (part: (Vec<AccountRow>, Option<u64>)) {
        status;
        people: Vec<PersonEntry> = part.0.into_iter().map(PersonEntry::from).collect();
        /// The value of `before` for the next part; null at the end. A part can be shorter than asked for before the end.
        next: Option<u64> = part.1;
    }

    /// An account as moderators see it.
    pub struct PersonEntry as DirectoryEntry from (row: AccountRow) {
        /// The username; null after a deactivation.
        username: Option<String> = row.username, Option<values::StoredUsername>;
        /// The e-mail address; only for administrators.
        email?: String = row.email;
        /// When the account was made, in Unix seconds.
        created: u64 = row.created.0;
        /// The inviter; null if there is none.
        invited_by: Option<String> = row.invited_by, Option<values::StoredUsername>;
        karma: i64 = row.karma;
        /// The stories that the person has posted.
        stories: u64 = row.stories;
        /// The comments that the person has written.
        comments: u64 = row.comments;
        /// How many of the person's last flags were upheld.
        flags_upheld: u64 = row.flags_upheld;
        /// The state; null if nothing is to be said.
        state: Option<&'static str> = row.state.map(AccountState::name), Option<values::AccountState>;
        /// The day of the last visit; null if there is none on record.
        last_seen: Option<String> = row.last_seen.map(|day| day.to_string()), Option<values::Date>;
        /// The tag of the network of the last post; null if there was none in the last 30 days.
        network: Option<String> = row.network.map(|tag| tag.to_string()), Option<values::NetworkTag>;
    }

    /// The outcome of an action on several people.
    pub struct ActedResponse as ModeratedPeople from (done: DoneForAll) {
        status;
        /// The line in the log that stands for all: that of the batch, or the only one; null if nothing was to be done.
        /// Its undo undoes all.
        moderation_id: Option<u64> = done.line.map(|line| line.0);
        /// The line of each action.
        moderation_ids: Vec<u64> = done.parts.iter().map(|part| part.0).collect();
    }
}

/// GET /api/moderate/people.
pub async fn list(mut page: Page<Member>, fields: Fields) -> Result<Json<DirectoryResponse>> {
    let DirectoryPart { rows, next, .. } = find(&page.app, &mut page.visit, &fields.read()?).await?;
    Ok(Json((rows, next).into()))
}

/// POST /api/moderate/people.
pub async fn change(app: App, mut form: SignedFields) -> Result<Json<ActedResponse>> {
    let asked: DirectoryForm = form.fields.read()?;
    Ok(Json(act(&app, (&mut form.visit, &form.user), &asked).await?.into()))
}

//! Invitations: a member lets somebody in, and everybody can see who invited whom.
//!
//! Keys: `invites:code:<code>` (an invitation that nobody has used), `invites:open:<user id>`
//! (the codes of a user), `invites:by:<user id>` (whom a user invited), `invites:roots` (where
//! the tree begins), and the fields `invited_by` and `invitations_version` of a user.
//!
//! A trusted account has as many invitations as the operator allows, used and unused ones
//! together. Those that expire or are withdrawn can be made again.

pub mod tree;

use crate::accounts::users::INVITED_BY;
use crate::accounts::{People, trust};
use crate::rates::counted::Limited;
use crate::values::{
    Email, INVITATION_SECONDS, InvitationCode, MAX_LISTED_INVITED, MAX_OPEN_INVITATIONS, SignupMode,
    Timestamp, UserId,
};
use crate::{KeptAnswer, Refusal, Result, Role, Site, User, fields, keys, repeats};
use std::time::Duration;
use tidings_keyspace::{Batch, Fetch, Order, read};

/// The field of a user that counts changes of their unused invitations.
const VERSION: &str = "invitations_version";
/// How long an invitation that nobody uses is valid.
const LIFE: Duration = Duration::from_secs(INVITATION_SECONDS);

/// An invitation that somebody uses to sign up.
pub(crate) struct Invitation {
    code: InvitationCode,
    by: UserId,
    /// The name of who invites.
    pub(crate) inviter: String,
    /// When the account of who invites was created.
    since: Timestamp,
    /// Whether who invites was invited too, and so is in the tree already.
    is_branch: bool,
}

impl Invitation {
    /// The invitation with a code; `None` if it is used, withdrawn or expired, or if who
    /// invites has left or is banned. Rounds: 2.
    pub(crate) async fn find(site: &Site, now: Timestamp, code: &InvitationCode) -> Result<Option<Self>> {
        let key = keys::invitation(code);
        let by = site.store.fetch(read::field(&key, "user_id")).await?;
        let Some(by) = fields::read::<UserId>(by.as_deref(), || key, "user_id") else { return Ok(None) };
        let user = site.store.fetch(User::by_id(by)).await?.filter(|user| user.ban(now).is_none());
        Ok(user.map(|user| Self {
            code: code.clone(),
            by,
            since: user.ctime,
            is_branch: user.invited_by.is_some(),
            inviter: user.username,
        }))
    }

    /// The field of a user who has used it.
    pub(crate) fn field_of_invited(&self) -> (&'static str, String) {
        (INVITED_BY, self.by.to_string())
    }

    /// Adds to the batch that creates an account that it has used the invitation. The batch is
    /// rejected if another one has, or if it has ended.
    pub(crate) fn write_use(&self, batch: &mut Batch, now: Timestamp, invited: UserId) {
        let key = keys::invitation(&self.code);
        batch.key_present(&key);
        batch.delete(key);
        batch.sorted_remove(keys::invites_open(self.by), self.code.expose());
        batch.sorted_add(keys::invites_by(self.by), invited.to_string(), now.as_score());
        if !self.is_branch {
            batch.sorted_add(keys::INVITES_ROOTS, self.by.to_string(), self.since.as_score());
        }
    }
}

/// An invitation that nobody has used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenInvitation {
    /// Its code.
    pub code: InvitationCode,
    /// When it was made.
    pub since: Timestamp,
    /// To whom it was addressed; may be empty.
    pub email: String,
}

impl OpenInvitation {
    /// When it ends.
    pub const fn ends(&self) -> Timestamp {
        Timestamp(self.since.0.saturating_add(INVITATION_SECONDS))
    }
}

/// Somebody who was invited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invited {
    /// The account.
    pub id: UserId,
    /// Its name; `None` once it is deactivated.
    pub username: Option<String>,
    /// When it was created.
    pub since: Timestamp,
}

/// The unused invitations of a user, as they are stored.
#[derive(Default)]
struct Open {
    codes: Vec<(InvitationCode, Timestamp)>,
    /// Members that are expired or cannot be read.
    expired: Vec<String>,
}

/// The unused invitations of a user, and how many people came.
fn invitations_of(user: UserId, now: Timestamp) -> impl Fetch<Value = (Open, u64)> {
    let members = read::sorted_range(keys::invites_open(user), Order::Descending, 0, u64::MAX);
    (members, read::sorted_count(keys::invites_by(user))).map(move |(members, used)| {
        let mut open = Open::default();
        for (member, score) in members {
            let since = Timestamp::from_score(score);
            match InvitationCode::parse(&member) {
                Some(code) if now.seconds_since(since) < INVITATION_SECONDS => open.codes.push((code, since)),
                _ => open.expired.push(member),
            }
        }
        (open, used)
    })
}

/// How many people a user may still invite, who has these unused invitations and brought so many people; `None` for any
/// number.
fn allowance(
    site: &Site,
    now: Timestamp,
    user: &User,
    (open, used): (&Open, u64),
) -> Result<Option<u64>, Refusal> {
    let open = open.codes.len() as u64;
    let rules = &site.rules.accounts;
    Refusal::SignupClosed.when(site.account_rules().signup == SignupMode::Closed)?;
    user.demand_confirmed(site)?;
    user.demand_may_post(now)?;
    Refusal::TooManyOpenInvitations { limit: MAX_OPEN_INVITATIONS }.when(open >= MAX_OPEN_INVITATIONS)?;
    if user.role() > Role::Member {
        return Ok(None);
    }
    Refusal::InvitationsAreOff.when(rules.invitations == 0)?;
    if let Some(lacking) = trust::lacking(&site.rules.trust, now, user) {
        return Err(Refusal::InvitingNeedsTrust(lacking));
    }
    match rules.invitations.saturating_sub(open.saturating_add(used)) {
        0 => Err(Refusal::NoInvitationsLeft { limit: rules.invitations }),
        left => Ok(Some(left)),
    }
}

/// Whether one more invitation may be mailed for a user today. Counts it, unless the user could
/// make none. Rounds: 3.
///
/// # Errors
/// As [`invite`], [`Refusal::TooManyInvitationMails`], or the store's.
pub async fn admit_mail(site: &Site, now: Timestamp, user: &User) -> Result<()> {
    let (open, used) = site.store.fetch(invitations_of(user.id, now)).await?;
    allowance(site, now, user, (&open, used))?;
    Limited::InvitationMails(user.id).count(site, |_| Refusal::TooManyInvitationMails).await
}

impl KeptAnswer for InvitationCode {
    fn to_text(&self) -> String {
        self.expose().to_owned()
    }

    fn from_text(text: &str) -> Option<Self> {
        Self::parse(text)
    }
}

/// Makes an invitation. Rounds: 2. The caller mails it.
///
/// # Errors
/// [`Refusal::SignupClosed`], [`Refusal::EmailNotConfirmed`], [`Refusal::InvitationsAreOff`],
/// [`Refusal::InvitingNeedsTrust`], [`Refusal::NoInvitationsLeft`],
/// [`Refusal::TooManyOpenInvitations`], or the store's.
pub async fn invite(
    site: &Site,
    now: Timestamp,
    user: &User,
    email: Option<&Email>,
) -> Result<InvitationCode> {
    let (key, list) = (keys::user(user.id), keys::invites_open(user.id));
    site.act(&list, || async {
        let reads = (invitations_of(user.id, now), read::field(&key, VERSION));
        let ((open, used), version) = site.store.fetch(reads).await?;
        allowance(site, now, user, (&open, used))?;
        let code = InvitationCode::random()?;
        let invitation = keys::invitation(&code);
        let mut batch = Batch::new();
        // Fails if another one was made meanwhile, which this one has not counted.
        batch.field_unchanged(&key, VERSION, version.as_deref());
        batch.increment_field(&key, VERSION, 1);
        let fields = [("user_id", user.id.to_string()), ("time", now.to_string())];
        batch.set_fields(&invitation, fields);
        if let Some(email) = email {
            batch.set_field(&invitation, "email", email.as_str());
        }
        batch.expire(&invitation, LIFE);
        open.expired.iter().for_each(|member| batch.sorted_remove(&list, member));
        batch.sorted_add(&list, code.expose(), now.as_score());
        batch.expire(&list, LIFE);
        let made = code.clone();
        user.decide(batch, code, &made)
    })
    .await
}

/// Withdraws an invitation that nobody has used. Rounds: 1.
///
/// # Errors
/// [`Refusal::NoSuchInvitation`], or the store's.
pub async fn withdraw(site: &Site, user: &User, code: &InvitationCode) -> Result<()> {
    let list = keys::invites_open(user.id);
    let mut batch = Batch::new();
    batch.sorted_member_present(&list, code.expose());
    batch.sorted_remove(&list, code.expose());
    batch.delete(keys::invitation(code));
    repeats::note(user.request.as_ref(), &mut batch, &())?;
    site.apply(batch).await?.or(Refusal::NoSuchInvitation)?;
    Ok(())
}

/// Adds to a batch that the unused invitations of somebody who leaves are gone. Rounds: 1.
pub(crate) async fn forget_all(site: &Site, batch: &mut Batch, user: UserId) -> Result<()> {
    let list = keys::invites_open(user);
    let open =
        site.store.fetch(read::sorted_range(&list, Order::Ascending, 0, 2 * MAX_OPEN_INVITATIONS)).await?;
    for code in open.iter().filter_map(|(code, _)| InvitationCode::parse(code)) {
        batch.delete(keys::invitation(&code));
    }
    batch.delete(list);
    Ok(())
}

/// The invitations of a user, as the user sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnInvitations {
    /// Those that nobody has used, the newest first; at most 200.
    pub open: Vec<OpenInvitation>,
    /// The people who came, the newest first; at most 200.
    pub invited: Vec<Invited>,
    /// How many people came.
    pub invited_count: u64,
    /// How many people the user may still invite, `None` for any number, or why nobody.
    pub allowance: Result<Option<u64>, Refusal>,
}

/// The invitations of a user. Rounds: 2.
pub async fn own_invitations(site: &Site, now: Timestamp, user: &User) -> Result<OwnInvitations> {
    let reads = (invitations_of(user.id, now), listed_invited(user.id));
    let ((open, used), invited) = site.store.fetch(reads).await?;
    let allowance = allowance(site, now, user, (&open, used));
    let emails: Vec<_> =
        open.codes.iter().map(|(code, _)| read::field(keys::invitation(code), "email").or_absent()).collect();
    let names = People::of(invited.iter().map(|(id, _)| *id));
    let (emails, names) = site.store.fetch((emails, names)).await?;
    let open = open.codes.into_iter().zip(emails);
    let open =
        open.map(|((code, since), email)| OpenInvitation { code, since, email: email.unwrap_or_default() });
    let (open, invited) = (open.collect(), with_names(invited, names));
    Ok(OwnInvitations { open, invited, invited_count: used, allowance })
}

/// The people whom a user invited, the newest first; at most 200. Rounds: 2.
pub async fn invited_by(site: &Site, user: UserId) -> Result<Vec<Invited>> {
    let invited = site.store.fetch(listed_invited(user)).await?;
    let names = site.store.fetch(People::of(invited.iter().map(|(id, _)| *id))).await?;
    Ok(with_names(invited, names))
}

/// The newest of those whom a user invited.
fn listed_invited(user: UserId) -> impl Fetch<Value = Vec<(UserId, Timestamp)>> {
    let key = keys::invites_by(user);
    let person = |(id, time): (String, f64)| Some((id.parse().ok()?, Timestamp::from_score(time)));
    let invited = read::sorted_range(&key, Order::Descending, 0, MAX_LISTED_INVITED);
    invited.map(move |members| fields::members(members, &key, person))
}

fn with_names(invited: Vec<(UserId, Timestamp)>, mut names: People) -> Vec<Invited> {
    let person = |(id, since)| {
        let username = names.remove(id).map(|names| names.username);
        Invited { id, username, since }
    };
    invited.into_iter().map(person).collect()
}

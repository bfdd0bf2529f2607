//! Accounts: who a user is, how they log in, and who is viewing a page.
//!
//! Keys: `user:<id>`, `users.count`, `username.to.id:<name>`, `username.folded:<name>`,
//! `session:<hash>`, `oidc:identity:<hash>`, `used:token:<hash>`, `user:<id>:sessions`, `auth:<token>`, `password_reset:<token>`,
//! `user:<id>:recent_votes`, `limit:create_user:<address>`, `limit:account_notices:<id>`, the
//! `limit:failed_login:` keys, `user:<id>:two_factor`, `user:<id>:new_totp`,
//! `limit:wrong_codes:<id>`, `passkey:used:<challenge>`, `signing.key`, `administrator.first`,
//! `user:<id>:inbox`, `user:<id>:unread`, `user:<id>:messages` and `user:<id>:notified:<date>`, `user:<id>:mutes`,
//! `user:<id>:blocks`, `user:<id>:message_threads`, `messages:<id>`, `limit:signups:<network>`, `limit:signup_burst`, `limit:signup_paused`,
//! `review:queue` (applications), `confirm_email:<token>`, the `invites:` keys,
//! `network:<tag>:<date>`, `user:<id>:addresses:<date>`, `networks:secret`, and those of the
//! [`outbox`]. Other wings have fields of their own in `user:<id>`.
//!
//! [`access`] decides who may read a site for members, and [`reading_key`] lets their feed readers in. `admission` decides whether a post is accepted at once. The wing hands out [`signup`] (create an
//! account), [`first_administrator`], [`invitations`] (who lets whom in), [`applications`] (accounts that wait for a
//! moderator), [`confirmation`] (of e-mail addresses), [`staff`] (who looks after the site),
//! [`account`] (change the profile and the password), [`login`] (who guesses is slowed down),
//! [`log_in`] (password and second factor, in one step or two), [`two_factor`] (authenticator apps,
//! recovery codes and passkeys), [`single_sign_on`] (accounts connected to an OpenID provider), [`login_link`] (a link for an
//! administrator), `sealed` (texts that a browser carries), [`sessions`] (log in and out, list and end sessions),
//! [`session_store`] (sessions as they are stored), [`password_reset`], [`notices`] (who hears of a
//! change), [`outbox`] (mails that wait to be sent), [`unsubscribing`] (from them), [`inbox`] (what concerns a user, read or
//! unread), [`message_threads`] (messages to the moderators as they are stored), [`names`] (names that look alike), [`trust`] (what accounts may not do yet), [`harden`]
//! (hashes of older sites wrapped in a strong one), [`users`] (a user as stored), [`people`] (names), [`profiles`],
//! [`roles`] (what the operator gives and takes), `standing` (who is banned or silenced), `origins`
//! (where posts come from), `origin_bans` (from where nobody signs up or posts), [`recent_votes`] (votes that can be taken back), [`mutes`] (people,
//! sites and words that a user does not want to see), [`reader`] (what one reader sees of what
//! others write) and [`visit`]: the viewer of a page, identified along with the page's own reads.

pub mod access;
pub mod account;
pub mod actor;
pub(crate) mod admission;
pub mod applications;
pub mod confirmation;
pub mod first_administrator;
pub mod harden;
pub mod inbox;
pub mod invitations;
pub mod karma;
pub mod log_in;
pub mod login;
pub mod login_link;
pub(crate) mod mentioned;
pub mod message_threads;
pub mod mutes;
pub mod names;
pub mod notices;
pub(crate) mod notified;
pub(crate) mod origin_bans;
pub(crate) mod origins;
pub mod outbox;
pub mod password_reset;
pub mod people;
pub(crate) mod presence;
pub mod profiles;
pub mod reader;
pub mod reading_key;
pub mod recent_votes;
pub mod roles;
pub(crate) mod sealed;
pub mod seen;
pub mod session_store;
pub mod sessions;
pub mod signup;
mod signup_limits;
pub mod single_sign_on;
pub mod staff;
mod standing;
pub(crate) mod store_rules;
pub mod trust;
pub mod two_factor;
pub mod unsubscribing;
pub mod users;
pub mod visit;

pub use self::{
    account::Owner,
    inbox::{EntryId, OnPage},
    message_threads::MessageThread,
    notices::Notice,
    outbox::{DigestsDue, WaitingMail},
    reader::{Collapsed, Perspective, Reader, Sight},
    reading_key::ReadingKey,
    recent_votes::{RecentVotes, VotedOn},
    roles::GivenRole,
    seen::{ProfileTexts, Seen, ShownIn, Viewed, Visible},
    session_store::{Device, LoginMethod, OpenSession, Session, VisitSession},
    two_factor::{Answer, HostMove, RelyingParty, SecondFactors},
    users::{ApiSecret, Flags},
    visit::SharedVisit,
};
pub(crate) use self::{
    inbox::{Delivery, Message, NewestUnread},
    invitations::Invitation,
    login::Attempt,
    mutes::Avoidance,
    notified::Notified,
    people::{People, PersonNames, UserNames},
    reading_key::READING_KEY,
    recent_votes::{ArticleEffect, RecentVote, VoteEffect},
    roles::Holder,
    session_store::AllSessions,
    signup_limits::SignupLimits,
    two_factor::TWO_FACTOR,
    unsubscribing::MAIL_SECRET,
    visit::CacheResult,
};

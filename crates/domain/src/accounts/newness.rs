//! New accounts, which may do less: those of the first days, and those with few posts.
//!
//! New is who is younger than `accounts.new_days` or has fewer than `accounts.new_posts` posts;
//! 0 switches that half off. Moderators and administrators are never new. An account that is
//! found to be no longer new gets the field `established`, so that its posts are not counted
//! again and again: it stays established when posts of it are removed later.

use crate::accounts::users::{ESTABLISHED, Role, User};
use crate::error::{Error, Refusal};
use crate::keys;
use crate::site::Site;
use crate::values::clock::Timestamp;
use crate::values::limits::MAX_LINKS_OF_NEW;
use crate::values::rates::Newness;
use linkify::{LinkFinder, LinkKind};
use tidings_keyspace::{Batch, Query};

const DAY: u64 = 86_400;

/// Until when an account is new; `None` if it is not. Rounds: those of [`is_new`].
pub(crate) async fn newness(site: &Site, now: Timestamp, user: &User) -> Result<Option<Newness>, Error> {
    let rules = &site.rules.accounts;
    let end = Timestamp(user.ctime.0.saturating_add(rules.new_days.saturating_mul(DAY)));
    let newness = Newness {
        until: (end > now).then_some(end),
        posts: (rules.new_posts > 0).then_some(rules.new_posts),
    };
    Ok(is_new(site, now, user).await?.then_some(newness))
}

/// Whether an account is new. Rounds: none in its first days and once it is established; else
/// 1, and a commit the one time that it is no longer new.
pub(crate) async fn is_new(site: &Site, now: Timestamp, user: &User) -> Result<bool, Error> {
    let rules = &site.rules.accounts;
    if user.role() > Role::Member || user.is_established {
        return Ok(false);
    }
    if now.seconds_since(user.ctime) < rules.new_days * DAY {
        return Ok(true);
    }
    if rules.new_posts == 0 {
        return Ok(false);
    }
    let lists = [keys::user_posted(user.id), keys::user_comments(user.id), keys::user_timeline(user.id)];
    let mut query = Query::new();
    let counts = lists.map(|list| query.sorted_count(list));
    let mut answers = site.store.query(query).await?;
    let posts: u64 = counts.into_iter().map(|count| answers.take(count)).sum();
    if posts < rules.new_posts {
        return Ok(true);
    }
    let mut batch = Batch::new();
    batch.set_field(keys::user(user.id), ESTABLISHED, "1");
    site.store.commit(batch).await?;
    Ok(false)
}

/// Refuses a comment of a new account with too many links. Rounds: none if it has few, else
/// those of [`is_new`].
///
/// # Errors
/// [`Refusal::TooManyLinks`], or the store's.
pub(crate) async fn refuse_many_links(
    site: &Site,
    now: Timestamp,
    author: &User,
    text: &str,
) -> Result<(), Error> {
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]).url_must_have_scheme(false);
    let has_many = finder.links(text).nth(MAX_LINKS_OF_NEW).is_some();
    if has_many && is_new(site, now, author).await? {
        return Err(Refusal::TooManyLinks { limit: MAX_LINKS_OF_NEW }.into());
    }
    Ok(())
}

//! Trust: one rule for everything that accounts may not do in their first days.
//!
//! An account is trusted once it is `trust.days` old and has `trust.karma` karma; 0 switches that
//! half off. Moderators and administrators are always trusted. Everybody else has a share of the
//! rates ([`RateRules::new_account_share`](crate::values::rules::RateRules)), creates no topics,
//! puts few links in a text, invites nobody, and has flags that weigh half.
//!
//! Votes cost karma, so an account that was found to be trusted gets the field `established` and
//! stays so, also when its karma falls later.

use crate::accounts::users::ESTABLISHED;
use crate::values::{Lacking, MAX_LINKS_OF_NEW, Timestamp, TrustRules};
use crate::{Refusal, Result, Role, Site, User, keys};
use tidings_keyspace::Batch;
use tidings_text::stored_text::StoredText;

/// The conditions of trust that an account does not meet; `None` if it is trusted.
pub fn lacking(rules: &TrustRules, now: Timestamp, user: &User) -> Option<Lacking> {
    if user.role() > Role::Member || user.is_established {
        return None;
    }
    let from = rules.age_reached(user.ctime);
    let lacking = Lacking {
        from: (from > now).then_some(from),
        karma: (rules.karma > 0 && user.trusted_karma() < rules.karma).then_some(rules.karma),
    };
    (lacking.from.is_some() || lacking.karma.is_some()).then_some(lacking)
}

/// Whether an account is trusted.
pub(crate) fn is_trusted(site: &Site, now: Timestamp, user: &User) -> bool {
    lacking(&site.rules.trust, now, user).is_none()
}

/// The conditions of trust that an acting account does not meet. Notes the first time that it meets
/// all of them. Rounds: none, and a commit that one time.
pub(crate) async fn of_acting(site: &Site, now: Timestamp, user: &User) -> Result<Option<Lacking>> {
    let lacking = lacking(&site.rules.trust, now, user);
    // Age never falls.
    let can_fall = site.rules.trust.karma > 0 && user.role() == Role::Member;
    if lacking.is_none() && can_fall && !user.is_established {
        let mut batch = Batch::new();
        batch.set_field(keys::user(user.id), ESTABLISHED, "1");
        site.store.commit(batch).await?;
    }
    Ok(lacking)
}

/// Refuses a text with too many links of an account that is not trusted yet.
///
/// # Errors
/// [`Refusal::TooManyLinks`].
pub(crate) fn refuse_many_links(
    site: &Site,
    now: Timestamp,
    author: &User,
    text: StoredText<'_>,
) -> Result<(), Refusal> {
    if !is_trusted(site, now, author) && text.judged().count() > MAX_LINKS_OF_NEW {
        return Err(Refusal::TooManyLinks { limit: MAX_LINKS_OF_NEW });
    }
    Ok(())
}

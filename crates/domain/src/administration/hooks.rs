//! The webhooks, as administrators edit them. [`crate::hooks`] is what they are told.
//!
//! Each change has a line in the moderation log, with the number of the hook and without its address, which is a
//! secret.

use super::LogSiteChange;
use crate::hooks::{of_hash, write_no_rest, write_removal, write_test};
use crate::values::{
    Action, HOOK_RESULTS, Hook, HookAddress, HookFormat, HookId, HookKind, HookResult, HookSecret, MAX_HOOKS,
    SitePart, Timestamp,
};
use crate::{AUDIT, Actor, Decision, Refusal, Result, Site, User, fields, keys};
use tidings_keyspace::{Batch, Order, read};
use tidings_language::{Phrase, p};

/// A change of the hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookChange {
    /// One more.
    Add(Hook),
    /// A hook is changed; a field that is `None` stays.
    Change {
        /// Which.
        hook: HookId,
        /// Where it is.
        address: Option<HookAddress>,
        /// The key that signs its messages.
        secret: Option<HookSecret>,
        /// The events that it hears about.
        kinds: Option<Vec<HookKind>>,
        /// How.
        format: Option<HookFormat>,
    },
    /// A hook is removed, with all that waits for it.
    Remove(HookId),
    /// A hook is sent a message that says so.
    Test(HookId),
}

impl HookChange {
    /// The change of a hook in a word, and for the moderation log; `None` for a test, which changes nothing.
    fn told(&self, hook: HookId) -> Option<(&'static str, Phrase<'static>)> {
        let id = hook.to_string();
        match self {
            Self::Add(_) => Some(("added", p!("added webhook {id}", id))),
            Self::Change { .. } => Some(("changed", p!("changed webhook {id}", id))),
            Self::Remove(_) => Some(("removed", p!("removed webhook {id}", id))),
            Self::Test(_) => None,
        }
    }
}

/// A hook, as administrators see it: without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownHook {
    /// Its number.
    pub id: HookId,
    /// Where it is.
    pub address: HookAddress,
    /// The events that it hears about.
    pub kinds: Vec<HookKind>,
    /// How.
    pub format: HookFormat,
    /// Whether its messages are signed.
    pub is_signed: bool,
    /// How many messages wait for it.
    pub waiting: u64,
    /// The outcomes of the last messages, the newest first.
    pub results: Vec<HookResult>,
}

/// Changes the hooks. Returns the number of the hook. Rounds: 3.
///
/// # Errors
/// [`Refusal::AdministratorsOnly`], [`Refusal::NoSuchHook`], [`Refusal::TooManyHooks`], [`Refusal::NotAHook`], or the
/// store's.
pub async fn change(
    site: &Site,
    now: Timestamp,
    administrator: Actor<'_>,
    (change, log): (&HookChange, LogSiteChange),
) -> Result<HookId> {
    administrator.require_admin()?;
    let changed = site.act(keys::HOOKS, || async {
        let reads = (read::hash(keys::HOOKS), read::string(keys::HOOKS_COUNT));
        let (stored, count) = site.store.fetch(reads).await?;
        let mut batch = Batch::new();
        let present = |id: HookId| stored.get(&id.to_string()).ok_or(Refusal::NoSuchHook);
        let id = match change {
            HookChange::Add(hook) => {
                hook.check().map_err(Refusal::from)?;
                Refusal::TooManyHooks { limit: MAX_HOOKS }.when(stored.0.len() >= MAX_HOOKS)?;
                let last: u64 =
                    fields::read_string(count.as_deref(), || keys::HOOKS_COUNT.to_owned()).unwrap_or(0);
                let id = HookId(last + 1);
                batch.string_unchanged(keys::HOOKS_COUNT, count.as_ref());
                batch.set(keys::HOOKS_COUNT, id.to_string());
                batch.field_absent(keys::HOOKS, id.to_string());
                batch.set_field(keys::HOOKS, id.to_string(), hook.to_json());
                if stored.0.is_empty() {
                    // Nobody hears about events from before the first hook.
                    batch.delete(keys::HOOK_EVENTS);
                }
                id
            }
            HookChange::Change { hook: id, address, secret, kinds, format } => {
                let before = present(*id)?;
                let mut hook = Hook::from_json(before).ok_or(Refusal::NoSuchHook)?;
                hook.address = address.clone().unwrap_or(hook.address);
                hook.secret = secret.clone().unwrap_or(hook.secret);
                hook.kinds = kinds.clone().unwrap_or(hook.kinds);
                hook.format = format.unwrap_or(hook.format);
                hook.check().map_err(Refusal::from)?;
                batch.field_equals(keys::HOOKS, id.to_string(), before);
                batch.set_field(keys::HOOKS, id.to_string(), hook.to_json());
                // Perhaps it works now.
                write_no_rest(&mut batch, *id);
                *id
            }
            HookChange::Remove(id) => {
                batch.field_equals(keys::HOOKS, id.to_string(), present(*id)?);
                write_removal(&mut batch, *id);
                *id
            }
            HookChange::Test(id) => {
                batch.field_equals(keys::HOOKS, id.to_string(), present(*id)?);
                write_test(&mut batch, now, *id);
                *id
            }
        };
        if let Some((_, told)) = change.told(id) {
            let line = (Action::SetHooks, SitePart::Hooks, told.to_string());
            log(site, &mut batch, (now, administrator.id), line).await?;
        }
        Decision::commit(batch, id).once(administrator.request.as_ref(), &id)
    });
    let hook = changed.await?;
    let by = &administrator.username;
    if let Some((done, _)) = change.told(hook) {
        tracing::info!(target: AUDIT, by, %hook, "a webhook was {done}");
    }
    Ok(hook)
}

/// The hooks, for administrators. Rounds: 2.
///
/// # Errors
/// [`Refusal::AdministratorsOnly`], or the store's.
pub async fn all(site: &Site, viewer: &User) -> Result<Vec<ShownHook>> {
    viewer.require_admin()?;
    let hooks = of_hash(&site.store.fetch(read::hash(keys::HOOKS)).await?);
    let reads = |(id, _): (&HookId, &Hook)| {
        let results = read::sorted_range(keys::hook_results(*id), Order::Descending, 0, HOOK_RESULTS);
        (results, read::sorted_count(keys::hook_outbox(*id)))
    };
    let stored = site.store.fetch(hooks.iter().map(reads).collect::<Vec<_>>()).await?;
    let shown = hooks.into_iter().zip(stored).map(|((id, hook), (results, waiting))| ShownHook {
        id,
        is_signed: !hook.secret.is_empty(),
        address: hook.address,
        kinds: hook.kinds,
        format: hook.format,
        waiting,
        results: fields::members(results, &keys::hook_results(id), |(json, _)| HookResult::from_json(&json)),
    });
    Ok(shown.collect())
}

//! The second factors of an account as they are stored: the hash `user:<id>:two_factor`.

use crate::accounts::two_factor::codes::{self, TotpSecret};
use crate::accounts::two_factor::public_key::StoredKey;
use crate::accounts::users::DEACTIVATED;
use crate::accounts::{Notice, Owner, SecondFactors, TWO_FACTOR, outbox};
use crate::values::{Timestamp, UserId};
use crate::{Decision, Error, Refusal, Result, Site, fields, keys};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tidings_keyspace::{Batch, CheckId, Fetch, Hash, read};

/// The secret of the authenticator app in base 32.
const TOTP: &str = "totp";
/// The last time step whose code was used.
const TOTP_STEP: &str = "totp_step";
/// Counts changes of what there is, so that two changes at the same time do not both count.
const VERSION: &str = "version";
/// The prefix of the fields of recovery codes, before the hash of the code.
const RECOVERY: &str = "recovery:";
/// The prefix of the fields of passkeys, before the id.
const PASSKEY: &str = "passkey:";

/// Digits of the id of a passkey.
const ID_DIGITS: usize = 16;

/// A passkey as it is stored: JSON.
#[derive(Serialize, Deserialize)]
pub(crate) struct Passkey {
    /// The name that the owner gave it.
    pub(crate) name: String,
    /// When it was added, in Unix seconds.
    pub(crate) since: u64,
    /// When it was last used, in Unix seconds.
    pub(crate) used: Option<u64>,
    /// The public key and what belongs to it.
    pub(crate) passkey: StoredKey,
}

/// The id of a passkey in keys, pages and forms: a part of the hash of what its authenticator
/// calls it, which can be a thousand bytes long.
pub(crate) fn passkey_id(credential_id: &[u8]) -> String {
    hex::encode(Sha256::digest(credential_id)).chars().take(ID_DIGITS).collect()
}

/// The second factors of an account.
pub(crate) struct StoredFactors {
    /// The owner of the account.
    pub(crate) user_id: UserId,
    stored: Hash,
}

impl StoredFactors {
    /// The second factors that a hash has.
    pub(crate) const fn of(user_id: UserId, stored: Hash) -> Self {
        Self { user_id, stored }
    }

    /// Those of an account.
    pub(crate) fn of_user(user_id: UserId) -> impl Fetch<Value = Self> {
        read::hash(keys::user_two_factor(user_id)).map(move |stored| Self { user_id, stored })
    }

    /// Reads them. Rounds: 1.
    pub(crate) async fn read(site: &Site, user_id: UserId) -> Result<Self> {
        Ok(site.store.fetch(Self::of_user(user_id)).await?)
    }

    fn key(&self) -> String {
        keys::user_two_factor(self.user_id)
    }

    /// The kinds that there are.
    pub(crate) fn kinds(&self) -> SecondFactors {
        SecondFactors { totp: self.stored.get(TOTP).is_some(), passkeys: self.passkey_count() > 0 }
    }

    /// The secret of the authenticator app, if there is one.
    pub(crate) fn totp(&self) -> Option<TotpSecret> {
        fields::parsed(self.stored.get(TOTP), || self.key(), TOTP, TotpSecret::parse)
    }

    /// The last time step whose code was used, as it is stored.
    pub(crate) fn totp_step(&self) -> Option<&str> {
        self.stored.get(TOTP_STEP)
    }

    /// Whether a code of this time step may still be used.
    pub(crate) fn is_unused(&self, step: u64) -> bool {
        let last: Option<u64> = fields::read(self.totp_step(), || self.key(), TOTP_STEP);
        last.is_none_or(|last| step > last)
    }

    /// The field of a recovery code that has not been used.
    pub(crate) fn recovery_field(&self, code: &str) -> Option<(String, String)> {
        let field = format!("{RECOVERY}{}", codes::recovery_hash(code));
        let made = self.stored.get(&field)?.to_owned();
        Some((field, made))
    }

    /// How many recovery codes have not been used.
    pub(crate) fn recovery_count(&self) -> usize {
        self.names(RECOVERY).count()
    }

    fn names(&self, prefix: &'static str) -> impl Iterator<Item = &str> {
        self.stored.0.iter().filter_map(move |(field, _)| field.strip_prefix(prefix))
    }

    /// How many passkeys there are.
    pub(crate) fn passkey_count(&self) -> usize {
        self.names(PASSKEY).count()
    }

    /// The passkeys with their ids, the oldest first. A passkey that cannot be read is logged and left out.
    pub(crate) fn passkeys(&self) -> Vec<(String, Passkey)> {
        let passkey = |id: &str| Some((id.to_owned(), self.passkey(id)?));
        let mut passkeys: Vec<_> = self.names(PASSKEY).filter_map(passkey).collect();
        passkeys.sort_by(|(id, one), (other_id, other)| (one.since, id).cmp(&(other.since, other_id)));
        passkeys
    }

    /// The passkey with an id.
    pub(crate) fn passkey(&self, id: &str) -> Option<Passkey> {
        let read = |json| serde_json::from_str(json).ok();
        fields::parsed(self.passkey_text(id), || self.key(), PASSKEY, read)
    }

    /// The same as it is stored.
    pub(crate) fn passkey_text(&self, id: &str) -> Option<&str> {
        self.stored.get(&format!("{PASSKEY}{id}"))
    }

    /// Begins a batch with which the owner changes what there is: it fails if that has changed meanwhile. It is refused if
    /// the session has ended, or if the password is not the one any more that was confirmed.
    pub(crate) fn change<'a>(&'a self, owner: Owner<'a>, confirmed: Option<&str>) -> Change<'a> {
        let mut batch = Batch::new();
        batch.field_unchanged(self.key(), VERSION, self.stored.get(VERSION));
        batch.increment_field(self.key(), VERSION, 1);
        let mut demanded = vec![owner.session.key.check(&mut batch, self.user_id)];
        let user = keys::user(self.user_id);
        demanded.extend(confirmed.map(|password| batch.field_equals(user, "password", password)));
        Change { factors: self, owner, batch, kinds: self.kinds(), demanded }
    }
}

/// A batch that changes the second factors of an account.
pub(crate) struct Change<'a> {
    /// Those that there were.
    factors: &'a StoredFactors,
    owner: Owner<'a>,
    batch: Batch,
    /// The kinds that there are.
    kinds: SecondFactors,
    /// The checks that refuse it.
    demanded: Vec<CheckId>,
}

impl Change<'_> {
    /// Tells the owner by mail.
    pub(crate) fn tell(&mut self, at: (&Site, Timestamp), notice: Notice) {
        let user = self.owner.user;
        let to = user.notice_address().unwrap_or_default();
        outbox::write_notices(&mut self.batch, at, (user.id, to), &[notice]);
    }

    /// More checks and writes.
    pub(crate) const fn batch(&mut self) -> &mut Batch {
        &mut self.batch
    }

    /// Sets the authenticator app.
    pub(crate) fn set_totp(&mut self, secret: &TotpSecret) {
        let key = self.factors.key();
        self.batch.set_field(&key, TOTP, secret.base32());
        self.batch.delete_field(key, TOTP_STEP);
        self.kinds.totp = true;
    }

    /// Removes the authenticator app.
    pub(crate) fn remove_totp(&mut self) {
        let key = self.factors.key();
        self.batch.delete_field(&key, TOTP);
        self.batch.delete_field(key, TOTP_STEP);
        self.kinds.totp = false;
    }

    /// Adds a passkey.
    pub(crate) fn add_passkey(&mut self, id: &str, passkey: &Passkey) -> Result<()> {
        let (key, field) = (self.factors.key(), format!("{PASSKEY}{id}"));
        self.batch.field_absent(&key, &field);
        self.batch.set_field(key, field, passkey_json(passkey)?);
        self.kinds.passkeys = true;
        Ok(())
    }

    /// Removes a passkey.
    pub(crate) fn remove_passkey(&mut self, id: &str) {
        self.batch.delete_field(self.factors.key(), format!("{PASSKEY}{id}"));
        self.kinds.passkeys = self.factors.passkey_count() > 1;
    }

    /// Replaces the recovery codes.
    pub(crate) fn replace_recovery(&mut self, now: Timestamp, codes: &[String]) {
        let key = self.factors.key();
        for hash in self.factors.names(RECOVERY) {
            self.batch.delete_field(&key, format!("{RECOVERY}{hash}"));
        }
        let field = |code: &String| format!("{RECOVERY}{}", codes::recovery_hash(&code.replace('-', "")));
        self.batch.set_fields(key, codes.iter().map(|code| (field(code), now.to_string())));
    }

    /// Commits the batch. Without a second factor, nothing of them stays.
    pub(crate) fn commit<T>(mut self, answer: T) -> Decision<T> {
        let user = keys::user(self.factors.user_id);
        if self.kinds.any() {
            // Not for an account that was deactivated or removed meanwhile.
            self.batch.field_absent(&user, DEACTIVATED);
            self.batch.set_field(user, TWO_FACTOR, self.kinds.to_string());
        } else {
            self.batch.delete(self.factors.key());
            self.batch.delete_field(user, TWO_FACTOR);
        }
        let decided = Decision::commit(self.batch, answer);
        let ended = || Err(Refusal::SessionEnded.into());
        self.demanded.into_iter().fold(decided, |decided, check| decided.if_rejected_by(check, ended()))
    }
}

/// The fields of a hash of second factors that cannot be read.
pub(crate) fn malformed_fields(stored: &Hash) -> impl Iterator<Item = &str> {
    let has_form = |field: &str, value: &str| match field {
        TOTP => TotpSecret::parse(value).is_some(),
        TOTP_STEP | VERSION => value.parse::<u64>().is_ok(),
        field if field.starts_with(RECOVERY) => value.parse::<u64>().is_ok(),
        field if field.starts_with(PASSKEY) => {
            serde_json::from_str(value).is_ok_and(|stored: Passkey| stored.passkey.passkey().is_some())
        }
        _ => false,
    };
    let fields = stored.0.iter();
    fields.filter(move |(field, value)| !has_form(field, value)).map(|(field, _)| field.as_str())
}

/// A passkey as it is stored.
pub(crate) fn passkey_json(passkey: &Passkey) -> Result<String> {
    serde_json::to_string(passkey).map_err(|error| Error::Internal(error.to_string()))
}

/// Notes in a batch that the code of a time step was used. The batch fails if another one was used
/// meanwhile.
pub(crate) fn note_step(batch: &mut Batch, user_id: UserId, (before, step): (Option<&str>, u64)) {
    let key = keys::user_two_factor(user_id);
    batch.field_unchanged(&key, TOTP_STEP, before);
    batch.set_field(key, TOTP_STEP, step.to_string());
}

/// Removes a recovery code in a batch, which fails if it has been used meanwhile.
pub(crate) fn use_recovery_code(batch: &mut Batch, user_id: UserId, (field, made): &(String, String)) {
    let key = keys::user_two_factor(user_id);
    batch.field_equals(&key, field, made);
    batch.delete_field(key, field);
}

/// Notes in a batch that a passkey was used. The batch fails if it was used or removed meanwhile.
pub(crate) fn note_passkey(batch: &mut Batch, user_id: UserId, id: &str, (before, after): (&str, &str)) {
    let (key, field) = (keys::user_two_factor(user_id), format!("{PASSKEY}{id}"));
    batch.field_equals(&key, &field, before);
    batch.set_field(key, field, after);
}

/// Removes everything that belongs to second factors, in a batch.
pub(crate) fn remove_all(batch: &mut Batch, user_id: UserId) {
    batch.delete(keys::user_two_factor(user_id));
    batch.delete(keys::user_new_totp(user_id));
    batch.delete_field(keys::user(user_id), TWO_FACTOR);
}

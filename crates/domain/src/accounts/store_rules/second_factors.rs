//! Rules of second factors: the hash of a user's second factors, and the field of the user that
//! names their kinds. Nobody may get in with fewer factors because of a repair.

use crate::accounts::two_factor::stored::{StoredFactors, malformed_fields};
use crate::accounts::users::DEACTIVATED;
use crate::accounts::{SecondFactors, TWO_FACTOR};
use crate::keys::{self, families};
use crate::store_rules::{Claims, Fault, Mend, Subject, claims, rules};
use crate::values::{MAX_PASSKEYS, RECOVERY_CODES, UserId};
use tidings_keyspace::{Batch, Hash, read};

rules! { pub(crate) RULES:
    "second factors have their form, and are not more than allowed" => USER_TWO_FACTOR: claims(form);
    "a user's field two_factor names the second factors that the user has" =>
        USER_TWO_FACTOR: claims(of_factors);
        USER: claims(of_user);
}

const LOST: Mend = Mend::Person(
    "restore the second factors from a backup, or type tidings user remove-two-factor with the user's name",
);

fn form(subject: &Subject, claims: &mut Claims) {
    let (Some(user), Some(hash)) = (subject.id::<UserId>(), subject.hash()) else { return };
    for field in malformed_fields(hash) {
        // The value is a secret.
        let name = field.split(':').next().unwrap_or_default();
        let found = format!("a field {name} that cannot be read");
        claims.of(field).malformed(found, "a second factor");
    }
    let stored = StoredFactors::of(user, hash.clone());
    for (what, count, most) in [
        ("passkeys", stored.passkey_count(), MAX_PASSKEYS),
        ("recovery codes", stored.recovery_count(), RECOVERY_CODES),
    ] {
        if count > most {
            let mend = Mend::Person("ask the user to remove some, or restore the key from a backup");
            claims.wrong(format_args!("{count} {what}"), format_args!("at most {most}"), mend);
        }
    }
}

/// The fault in the field of a user, compared with the stored second factors.
fn fault(user: UserId, named: Option<&str>, stored: &Hash) -> Option<Fault> {
    let kinds = StoredFactors::of(user, stored.clone()).kinds();
    let claimed = SecondFactors::read(named);
    if claimed == kinds {
        return None;
    }
    let key = keys::user(user);
    let in_words =
        |kinds: SecondFactors| if kinds.any() { kinds.to_string() } else { "no second factor".to_owned() };
    let [found, expected] = [claimed, kinds].map(|kinds| format!("{TWO_FACTOR} names {}", in_words(kinds)));
    let is_lost = (claimed.totp && !kinds.totp) || (claimed.passkeys && !kinds.passkeys);
    if is_lost {
        return Some(Fault { key, found, expected, mend: LOST });
    }
    let mut batch = Batch::new();
    batch.field_unchanged(&key, TWO_FACTOR, named);
    batch.field_absent(&key, DEACTIVATED);
    batch.key_present(keys::user_two_factor(user));
    batch.set_field(&key, TWO_FACTOR, kinds.to_string());
    let mend = Mend::write(batch, format!("set the field {TWO_FACTOR} to {kinds}"));
    Some(Fault { key, found, expected, mend })
}

fn of_factors(subject: &Subject, claims: &mut Claims) {
    let (Some(user), Some(hash)) = (subject.id::<UserId>(), subject.hash()) else { return };
    let (key, stored) = (keys::user(user), hash.clone());
    claims.add(read::fields(&key, ["id", TWO_FACTOR]), move |[id, named]| {
        id?;
        fault(user, named.as_deref(), &stored)
    });
    claims.place_at(key, TWO_FACTOR);
}

/// Only a user without second factors: the others are found by those.
fn of_user(subject: &Subject, claims: &mut Claims) {
    let Some(user) = subject.id::<UserId>() else { return };
    let Some(named) = subject.field(TWO_FACTOR).map(str::to_owned) else { return };
    claims.of(TWO_FACTOR).add(read::hash(keys::user_two_factor(user)), move |factors| {
        factors.is_empty().then(|| fault(user, Some(&named), &factors)).flatten()
    });
}

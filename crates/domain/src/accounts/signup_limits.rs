//! How many accounts are created: one of an address in some seconds, some of a network in a day,
//! and of all in an hour. After too many of the last, new accounts wait for approval for an hour,
//! unless their network has brought nobody today.
//!
//! Each limit is one key that expires. A refused sign-up writes none of them. The first two hold for nobody whom
//! a member has invited.

use crate::error::Refusal;
use crate::fields;
use crate::keys;
use crate::values::clock::Timestamp;
use crate::values::limits::{NETWORK_SIGNUPS_SECONDS, SIGNUP_BURST_SECONDS};
use crate::values::network::Network;
use crate::values::rules::LimitRules;
use std::net::IpAddr;
use std::time::Duration;
use tidings_keyspace::{Batch, Expiry, Fetch, read};

/// How many accounts were created since the first of them that still counts.
struct Count {
    key: String,
    stored: Option<String>,
    expiry: Expiry,
}

impl Count {
    fn at(key: String) -> impl Fetch<Value = Self> {
        let reads = (read::string(&key), read::expiry(&key));
        reads.map(|(stored, expiry)| Self { key, stored, expiry })
    }

    fn number(&self) -> u64 {
        fields::read_string(self.stored.as_deref(), || self.key.clone()).unwrap_or(0)
    }

    /// Counts one more. The count ends so many seconds after its first account.
    fn write(&self, batch: &mut Batch, seconds: u64) {
        match &self.stored {
            Some(stored) => {
                batch.string_equals(&self.key, stored);
                batch.increment(&self.key, 1);
            }
            None => {
                batch.key_absent(&self.key);
                batch.set_expiring(&self.key, "1", Duration::from_secs(seconds));
            }
        }
    }
}

/// The limits of a sign-up from one address, as they are stored.
pub(crate) struct SignupLimits {
    address: IpAddr,
    of_address: Expiry,
    of_network: Count,
    of_all: Count,
    paused: Expiry,
}

impl SignupLimits {
    /// The limits of a sign-up from an address.
    pub(crate) fn of(address: IpAddr) -> impl Fetch<Value = Self> {
        let reads = (
            read::expiry(keys::create_user_limit(address)),
            Count::at(keys::network_signups(Network::of(address))),
            Count::at(keys::SIGNUP_BURST.to_owned()),
            read::expiry(keys::SIGNUP_PAUSED),
        );
        reads.map(move |(of_address, of_network, of_all, paused)| Self {
            address,
            of_address,
            of_network,
            of_all,
            paused,
        })
    }

    /// Whether one more account may be created.
    ///
    /// # Errors
    /// [`Refusal::AccountCreatedRecently`] or [`Refusal::TooManySignupsFromNetwork`].
    pub(crate) fn admit(&self, rules: &LimitRules) -> Result<(), Refusal> {
        if rules.account_creation_seconds > 0 && self.of_address != Expiry::Absent {
            return Err(Refusal::AccountCreatedRecently { seconds: fields::seconds_left(self.of_address) });
        }
        if rules.signups_per_network > 0 && self.of_network.number() >= rules.signups_per_network {
            return Err(Refusal::TooManySignupsFromNetwork {
                seconds: fields::seconds_left(self.of_network.expiry),
            });
        }
        Ok(())
    }

    /// Whether a new account has to wait for approval, because too many were created. Those of
    /// networks that have brought nobody in the last 24 hours need not. Of those whom a member has
    /// invited the caller knows.
    pub(crate) fn holds(&self, rules: &LimitRules) -> bool {
        rules.signup_burst > 0 && self.paused != Expiry::Absent && self.of_network.number() > 0
    }

    /// Counts an account in the batch that creates it. Returns whether those after it have to wait.
    pub(crate) fn write(
        &self,
        batch: &mut Batch,
        now: Timestamp,
        rules: &LimitRules,
        is_invited: bool,
    ) -> bool {
        // An invited account may come at any time.
        if rules.account_creation_seconds > 0 && self.of_address == Expiry::Absent {
            let (key, time) = (keys::create_user_limit(self.address), rules.account_creation_seconds);
            batch.key_absent(&key);
            batch.set_expiring(key, now.to_string(), Duration::from_secs(time));
        }
        if rules.signups_per_network > 0 || rules.signup_burst > 0 {
            self.of_network.write(batch, NETWORK_SIGNUPS_SECONDS);
        }
        if rules.signup_burst == 0 || is_invited {
            return false;
        }
        if self.paused != Expiry::Absent {
            return false;
        }
        batch.key_absent(keys::SIGNUP_PAUSED);
        self.of_all.write(batch, SIGNUP_BURST_SECONDS);
        let begins = self.of_all.number() + 1 >= rules.signup_burst;
        if begins {
            // When accounts need not wait any more, the count begins anew.
            batch.delete(keys::SIGNUP_BURST);
            let pause = Duration::from_secs(SIGNUP_BURST_SECONDS);
            batch.set_expiring(keys::SIGNUP_PAUSED, now.to_string(), pause);
        }
        begins
    }
}

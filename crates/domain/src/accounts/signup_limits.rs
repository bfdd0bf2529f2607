//! How many accounts are created: one of an address in some seconds, some of a network in a day,
//! and of all in an hour. After too many of the last, new accounts wait for approval for an hour,
//! unless their network has brought nobody today.
//!
//! A refused sign-up counts for none of them. The first two hold for nobody whom a member has invited.

use crate::Refusal;
use crate::rates::counted::{Counted, Limited};
use crate::values::{Network, Rules};
use std::net::IpAddr;
use tidings_keyspace::{Batch, Fetch};

/// The limits of a sign-up from one address, as they are stored.
pub(crate) struct SignupLimits {
    of_address: Counted,
    of_network: Counted,
    of_all: Counted,
    pause: Counted,
}

impl SignupLimits {
    /// The limits of a sign-up from an address.
    pub(crate) fn of(rules: &Rules, address: IpAddr) -> impl Fetch<Value = Self> + use<> {
        let reads = (
            Limited::SignupsOfAddress(address).counted(rules),
            Limited::SignupsOfNetwork(Network::of(address)).counted(rules),
            Limited::SignupBurst.counted(rules),
            Limited::SignupPause.counted(rules),
        );
        reads.map(|(of_address, of_network, of_all, pause)| Self { of_address, of_network, of_all, pause })
    }

    /// Whether one more account may be created.
    ///
    /// # Errors
    /// [`Refusal::AccountCreatedRecently`] or [`Refusal::TooManySignupsFromNetwork`].
    pub(crate) fn admit(&self) -> Result<(), Refusal> {
        self.of_address.demand(|seconds| Refusal::AccountCreatedRecently { seconds })?;
        self.of_network.demand(|seconds| Refusal::TooManySignupsFromNetwork { seconds })
    }

    /// Whether a new account has to wait for approval, because too many were created. Those of
    /// networks that have brought nobody in the last 24 hours need not. Of those whom a member has
    /// invited the caller knows.
    pub(crate) fn holds(&self) -> bool {
        self.pause.is_reached() && self.of_network.is_begun()
    }

    /// Counts an account in the batch that creates it. Returns whether those after it have to wait.
    pub(crate) fn write(&self, batch: &mut Batch, is_invited: bool) -> bool {
        // An invited account may come at any time.
        if !self.of_address.is_reached() {
            self.of_address.add(batch);
        }
        self.of_network.add(batch);
        if is_invited || self.of_all.is_off() || self.pause.is_reached() {
            return false;
        }
        self.pause.guard(batch);
        self.of_all.add(batch);
        let begins = self.of_all.is_last();
        if begins {
            // When accounts need not wait any more, the count begins anew.
            self.of_all.end(batch);
            self.pause.add(batch);
        }
        begins
    }
}

//! Members only: on such a site, whoever is not logged in reads nothing. This is the one place that decides it: the router
//! asks it before every handler, cache and failure, for every address that does not say that it is open.

use crate::values::SiteReaders;
use crate::{Error, Refusal, Result, Site, Visit};

/// The people whom an address answers on a site that only members read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everyone: to log in and sign up, and what says nothing of the community.
    Everyone,
    /// Those who have logged in, although they may not read yet: their settings.
    Accounts,
    /// Those who may read.
    Readers,
}

impl Site {
    /// Whether only members read it, as far as it is known without a read: see [`Site::known_identity`]. A server knows of its
    /// own change at once, and of that of another when it next reads something.
    pub fn is_for_members(&self) -> bool {
        self.known_identity().texts.readers(&self.rules) == SiteReaders::Members
    }
}

impl Visit {
    /// Refuses whoever may not have this access on a site that only members read. People who are banned count as not logged
    /// in. Rounds: none on a site for everyone; else those that recognise the viewer.
    ///
    /// # Errors
    /// [`Refusal::MembersOnly`], [`Refusal::EmailNotConfirmed`], or the store's.
    pub async fn demand(&mut self, access: Access) -> Result<()> {
        let site = self.site_too();
        if access == Access::Everyone || !site.is_for_members() {
            return Ok(());
        }

        let viewer = self.recognise().await?.ok_or(Refusal::MembersOnly)?;
        if access == Access::Readers { viewer.demand_confirmed(&site).map_err(Error::from) } else { Ok(()) }
    }
}

//! Muting and blocking.

use crate::error::RequestError;
use crate::request::form::{Fields, form, parsed};
use crate::request::values;
use tidings_domain::Error;
use tidings_domain::accounts::mutes::Mutable;
use tidings_domain::values::mutes::{MuteKind, MutedWord, muted_domain};
use tidings_domain::values::topic::Topic;

/// The target of a mute.
pub enum MuteTarget {
    /// A topic, which must exist.
    Topic(Topic),
    /// A person, a site or a word.
    Other(Mutable),
}

form! {
    /// Something to mute or unmute.
    #[schema(as = Mute)]
    pub struct MuteForm {
        /// The kind of thing.
        pub what: MuteKind = parsed(KIND), values::MuteKind;
        /// A username, the name of a site (which covers its subdomains), a topic, or a word or
        /// phrase. Case does not matter.
        pub value: MuteTarget = target, values::MuteValue;
    }
}

const KIND: &str = "it must be user, domain, topic or word";

fn target(fields: &Fields, name: &'static str) -> Result<MuteTarget, RequestError> {
    let typed = fields.required(name)?;
    let not_a_site = |_| RequestError::field(name, "it must be the name of a site, such as example.com");
    Ok(match fields.parsed("what", KIND)? {
        MuteKind::Topic => MuteTarget::Topic(Topic::parse(name, typed).map_err(Error::from)?),
        MuteKind::User => MuteTarget::Other(Mutable::User(username(fields, name)?)),
        MuteKind::Domain => MuteTarget::Other(Mutable::Domain(muted_domain(typed).map_err(not_a_site)?)),
        MuteKind::Word => MuteTarget::Other(Mutable::Word(MutedWord::parse(typed).map_err(Error::from)?)),
    })
}

/// A username as people type it: with or without an `@`.
fn username(fields: &Fields, name: &'static str) -> Result<String, RequestError> {
    let typed = fields.required(name)?.trim();
    Ok(typed.strip_prefix('@').unwrap_or(typed).to_owned())
}

form! {
    /// Somebody to block or unblock.
    #[schema(as = Block)]
    pub struct BlockForm {
        // Imported accounts may have names that are not valid for new accounts.
        /// The username. Case does not matter.
        pub username: String = username, values::Username;
    }
}

//! Bans of networks and e-mail domains.

use super::form::{hours, switch};
use crate::error::RequestError;
use crate::request::form::{Fields, form, parsed, valid};
use crate::request::values;
use tidings_domain::Refusal;
use tidings_domain::moderation::origins::NewOriginBan;
use tidings_domain::values::actions::Hours;
use tidings_domain::values::ids::OriginBanId;
use tidings_domain::values::moderation::Reason;
use tidings_domain::values::origin_ban::{BanScope, BannedOrigin, OriginKind};

form! {
    /// A network or a domain to ban, or to try.
    pub struct BanForm {
        /// The kind of the value.
        pub what: OriginKind = parsed(KIND), values::OriginKind;
        /// The network, such as `192.0.2.0/24`, at most a /16 of IPv4 or a /32 of IPv6; or the domain.
        pub value: BannedOrigin = origin, values::Origin;
        /// The actions that are forbidden to people from there.
        pub scope: BanScope = parsed("it must be signup, post or both"), values::BanScope;
        /// Why. Those whom the ban stops read it.
        pub reason: Reason = valid(Reason::parse), values::Reason;
        /// For how long.
        pub hours: Hours = hours, values::Hours, required = false;
        /// `1` to ban nothing, and to learn how many members the ban would stop.
        pub dry_run: bool = switch, values::Switch, required = false;
    }
}

const KIND: &str = "it must be network or domain";

fn origin(fields: &Fields, name: &'static str) -> Result<BannedOrigin, RequestError> {
    Ok(BannedOrigin::parse(fields.parsed("what", KIND)?, fields.required(name)?).map_err(Refusal::from)?)
}

impl From<BanForm> for NewOriginBan {
    fn from(BanForm { value, scope, reason, hours, .. }: BanForm) -> Self {
        Self { origin: value, scope, reason, hours }
    }
}

form! {
    /// A ban to lift.
    pub struct LiftBanForm {
        /// The ban.
        pub ban_id: OriginBanId = parsed("it must be the number of a ban"), values::Id;
        /// Why.
        pub reason: Reason = valid(Reason::parse), values::Reason;
    }
}

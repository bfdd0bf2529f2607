//! Bans of networks and e-mail domains.

use super::form::{hours, reason, switch};
use crate::error::RequestError;
use crate::request::form::{Fields, FromFields, form, parsed, valid};
use crate::request::values;
use tidings_domain::Refusal;
use tidings_domain::moderation::origins::NewOriginBan;
use tidings_domain::values::actions::Hours;
use tidings_domain::values::ids::OriginBanId;
use tidings_domain::values::moderation::Reason;
use tidings_domain::values::origin_ban::{BanScope, BannedOrigin, OriginKind};
use utoipa::ToSchema;

/// A network or a domain to ban, or to try.
#[derive(ToSchema)]
pub struct BanForm {
    /// The kind of the value.
    #[schema(value_type = values::OriginKind)]
    pub what: OriginKind,
    /// The network, such as `192.0.2.0/24`, at most a /16 of IPv4 or a /32 of IPv6; or the domain.
    #[schema(value_type = values::Origin)]
    pub value: BannedOrigin,
    /// The actions that are forbidden to people from there.
    #[schema(value_type = values::BanScope)]
    pub scope: BanScope,
    /// Why. Those whom the ban stops read it.
    #[schema(value_type = values::Reason)]
    pub reason: Reason,
    /// For how long.
    #[schema(value_type = values::Hours, required = false)]
    pub hours: Hours,
    /// `1` to ban nothing, and to learn how many members the ban would stop.
    #[schema(value_type = values::Switch, required = false)]
    pub dry_run: bool,
}

impl FromFields for BanForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        let what = fields.parsed("what", "it must be network or domain")?;
        let value = BannedOrigin::parse(what, fields.required("value")?).map_err(Refusal::from)?;
        let scope = fields.parsed("scope", "it must be signup, post or both")?;
        fields.required("reason")?;
        let (reason, hours) = (reason(fields)?, hours(fields, "hours")?);
        Ok(Self { what, value, scope, reason, hours, dry_run: switch(fields, "dry_run")? })
    }
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

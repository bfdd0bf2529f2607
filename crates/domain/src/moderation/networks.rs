//! The networks that people come from: the facts that moderators may know, and those for administrators.

use crate::accounts::{People, origins};
use crate::contributions::person_named;
use crate::values::{NetworkTag, Timestamp};
use crate::{Result, Role, User, Visit};
use std::net::IpAddr;

/// Where somebody has signed up and posted from lately, as a viewer may know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbourhood {
    /// The tag of the network that was used last; `None` if nothing is known.
    pub tag: Option<NetworkTag>,
    /// The names of others from the same networks.
    pub others: Vec<String>,
    /// The addresses, and when each was used last, for administrators; `None` for moderators.
    pub addresses: Option<Vec<(IpAddr, Timestamp)>>,
}

/// Where the person with a name has signed up and posted from lately. Rounds: 5.
///
/// # Errors
/// [`Refusal::ModeratorsOnly`](crate::Refusal::ModeratorsOnly), [`Refusal::NoSuchUser`](crate::Refusal::NoSuchUser), or the store's.
pub async fn neighbourhood_of(visit: &mut Visit, name: &str) -> Result<Neighbourhood> {
    visit.demand_moderator().await?;
    let role = visit.recognise().await?.map_or(Role::Member, User::role);
    let (site, now) = (visit.site_too(), visit.now());
    let (person, _) = person_named(&site, name).await?;
    let origins = origins::origins_of(&site, now, person.id).await?;
    let people = site.store.fetch(People::of(origins.others.iter().copied())).await?;
    let name = |id| Some(people.get(id)?.username.clone());
    Ok(Neighbourhood {
        tag: origins.tag,
        others: origins.others.iter().filter_map(|id| name(*id)).collect(),
        addresses: (role == Role::Administrator).then_some(origins.addresses),
    })
}

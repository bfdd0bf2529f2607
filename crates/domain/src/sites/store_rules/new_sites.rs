//! Rules of the sites that are new to a voter on one day, by which the votes of a day are limited.

use crate::keys::{self, families};
use crate::store_rules::Rule;
use crate::store_rules::claims::{Claims, Fault, Mend, field_in};
use crate::store_rules::subject::Subject;
use crate::values::day::Day;
use crate::values::hostname::Hostname;
use crate::values::voter_id::VoterId;
use tidings_keyspace::{Batch, Read};

pub(crate) static RULES: &[Rule] = &[Rule::claims(
    &families::VOTER_NEW,
    "the sites that were new to a voter on a day are those with its vote, and are counted",
    new_sites,
)];

const DAY: &str = "day";
const COUNT: &str = "count";

fn new_sites(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(voter)) = (subject.hash(), subject.id::<VoterId>()) else { return };
    let key = subject.key.clone();
    if hash.get(DAY).is_none_or(|day| day.parse::<Day>().is_err()) {
        claims.of(DAY).malformed("no day", "a day");
    }
    let mend = Mend::Person("restore the voter from a backup, or delete the key");
    claims.refers(format!("sites of the voter {voter}"), keys::voter(voter), mend);
    let mut hosts = Vec::new();
    for (field, _) in hash.0.iter().filter(|(field, _)| field != DAY && field != COUNT) {
        match Hostname::parse(field) {
            Ok(host) => hosts.push(host),
            Err(_) => claims.of(field).malformed(format_args!("the field {field:?}"), "names of sites"),
        }
    }
    let found = hash.get(COUNT).map(str::to_owned);
    let guard = [DAY, COUNT].map(|field| (field, hash.get(field).map(str::to_owned)));
    let votes = hosts.iter().map(|host| Read::HashFields(keys::link_votes(host), vec![voter.to_string()]));
    claims.add(votes.collect(), move |answers| {
        let stale: Vec<&Hostname> = hosts
            .iter()
            .enumerate()
            .filter_map(|(place, host)| field_in(answers, place, 0).is_none().then_some(host))
            .collect();
        let count = (hosts.len() - stale.len()).to_string();
        if stale.is_empty() && found.as_ref() == Some(&count) {
            return None;
        }
        let mut batch = Batch::new();
        for (field, value) in &guard {
            batch.field_unchanged(&key, *field, value.as_deref());
        }
        for host in &stale {
            batch.field_absent(keys::link_votes(host), voter.to_string());
            batch.delete_field(&key, host.as_str());
        }
        if stale.len() == hosts.len() {
            batch.delete(&key);
        } else {
            batch.set_field(&key, COUNT, &count);
        }
        let found = found.as_deref().unwrap_or("nothing");
        Some(Fault {
            key: key.clone(),
            found: format!(
                "{COUNT} {found} and {} sites, {} of them without a vote",
                hosts.len(),
                stale.len()
            ),
            expected: format!("{COUNT} {count} and as many sites"),
            mend: Mend::write(batch, "count the sites with a vote and delete the others"),
        })
    });
}

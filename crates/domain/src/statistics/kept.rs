//! The figures of the last hours and days, for the charts of administrators: a small hash
//! for each hour and each day. Every server adds what it has counted, once a minute.

use crate::activity::{Answered, Figures, Unkept};
use crate::values::{CHART_DAYS, CHART_HOURS, Day, Hour, Timestamp};
use crate::{Result, Site, Visit, fields, keys};
use std::collections::BTreeMap;
use std::time::Duration;
use tidings_keyspace::{Batch, Hash, read};

/// Seconds for which the figures of an hour are kept, and those of a day.
const HOUR_KEPT: u64 = (CHART_HOURS + 1) * 3_600;
const DAY_KEPT: u64 = (CHART_DAYS + 1) * 86_400;

/// Adds what happened since the last call to what this server has to store. In memory only.
pub fn note(site: &Site, now: Timestamp, answered: Answered) {
    site.of::<Unkept>().absorb(now, answered, site.of());
}

/// Stores what this server has counted, in one batch that adds. Figures that cannot be stored are kept
/// for the next call. Rounds: 1, which is counted separately; none if nothing has happened.
///
/// # Errors
/// When the store fails. If it fails after it has applied the batch, this is counted twice.
pub async fn keep(site: &Site) -> Result<()> {
    let taken = site.of::<Unkept>().take();
    // Several hours may be of one day, and a batch increments a field only once.
    let mut sums: BTreeMap<String, (Figures, u64)> = BTreeMap::new();
    for (hour, figures) in &taken {
        let hour_key = keys::statistics_of_hour(*hour);
        sums.entry(hour_key).or_insert_with(|| (Figures::default(), HOUR_KEPT)).0.add(figures);
        let day_key = keys::statistics_of_day(hour.day());
        sums.entry(day_key).or_insert_with(|| (Figures::default(), DAY_KEPT)).0.add(&figures.for_day());
    }
    let mut batch = Batch::new();
    sums.iter().for_each(|(key, (figures, seconds))| add(&mut batch, key, figures, *seconds));
    if batch.writes().is_empty() {
        return Ok(());
    }
    if let Err(error) = crate::site::apply(&site.store.counted_apart(), batch).await {
        taken.iter().for_each(|(hour, figures)| site.of::<Unkept>().put(*hour, figures));
        return Err(error);
    }
    Ok(())
}

/// Adds figures to a key that expires.
fn add(batch: &mut Batch, key: &str, figures: &Figures, seconds: u64) {
    let fields = figures.fields();
    if fields.is_empty() {
        return;
    }
    for (name, number) in fields {
        batch.increment_field(key, name, i64::try_from(number).unwrap_or(i64::MAX));
    }
    batch.expire(key, Duration::from_secs(seconds));
}

/// The figures of the last hours and days, the earliest first. The last hour and day are not over.
#[derive(Debug, Clone, Default)]
pub struct Chronicle {
    /// The last 24 hours.
    pub hours: Vec<(Hour, Figures)>,
    /// The last 30 days, UTC.
    pub days: Vec<(Day, Figures)>,
}

impl Chronicle {
    /// The sums of the last 24 hours.
    pub fn last_day(&self) -> Figures {
        self.hours.iter().fold(Figures::default(), |mut sum, (_, figures)| {
            sum.add(figures);
            sum
        })
    }
}

/// Reads what happened, with what this server has not stored yet. Rounds: 1, of 54 hashes of at
/// most 41 numbers each.
pub async fn chronicle(visit: &mut Visit) -> Result<Chronicle> {
    let (now, site) = (visit.now(), visit.site_too());
    let hours: Vec<_> = Hour::of(now).last(CHART_HOURS).collect();
    let days: Vec<_> = Day::of(now).last(CHART_DAYS).collect();
    let of_hours: Vec<_> = hours.iter().map(|hour| read::hash(keys::statistics_of_hour(*hour))).collect();
    let of_days: Vec<_> = days.iter().map(|day| read::hash(keys::statistics_of_day(*day))).collect();
    let (of_hours, of_days) = visit.fetch((of_hours, of_days)).await?;
    let unkept = site.of::<Unkept>().all();
    let mut chronicle = Chronicle::default();
    for (hour, stored) in hours.into_iter().zip(of_hours) {
        let mut figures = figures_of(&stored, || keys::statistics_of_hour(hour));
        unkept.iter().filter(|(of, _)| *of == hour).for_each(|(_, new)| figures.add(new));
        chronicle.hours.push((hour, figures));
    }
    for (day, stored) in days.into_iter().zip(of_days) {
        let mut figures = figures_of(&stored, || keys::statistics_of_day(day));
        unkept.iter().filter(|(of, _)| of.day() == day).for_each(|(_, new)| figures.add(&new.for_day()));
        chronicle.days.push((day, figures));
    }
    Ok(chronicle)
}

/// The figures in a hash. Unknown fields are left out, unreadable ones logged.
fn figures_of(hash: &Hash, key: impl Fn() -> String) -> Figures {
    let mut figures = Figures::default();
    for (name, text) in &hash.0 {
        if let Some(place) = figures.field(name) {
            *place = fields::read(Some(text), &key, name).unwrap_or(0);
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::ActionCounters;
    use crate::counts::CountedAction;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use tidings_keyspace::{EngineClock, Expiry, Store, StoreOptions};

    /// 08:00 of a day.
    const NOW: Timestamp = Timestamp(1_800_000_000);
    const HOUR: u64 = 3_600;

    fn site_on(store: &Store) -> Arc<Site> {
        Arc::new(Site::on(store.clone()))
    }

    async fn read(site: &Arc<Site>, now: u64) -> Chronicle {
        let mut visit = Visit::new(site.clone(), Timestamp(now), None);
        let before = site.store.rounds();
        let read = chronicle(&mut visit).await.unwrap();
        assert_eq!(site.store.rounds() - before, 1);
        assert_eq!((read.hours.len(), read.days.len()), (24, 30));
        read
    }

    fn answered(requests: u64, bin: usize) -> Answered {
        let mut answered = Answered { requests, refused: 1, ..Answered::default() };
        answered.times[bin] = requests;
        answered
    }

    #[tokio::test]
    async fn servers_add_up_and_nothing_is_counted_twice() {
        let store = Store::in_memory().await.unwrap();
        let (one, two) = (site_on(&store), site_on(&store));
        one.count(CountedAction::Story);
        one.of::<ActionCounters>().count_visit(None, NOW);
        note(&one, NOW, answered(5, 3));
        note(&two, NOW, answered(7, 4));
        two.count(CountedAction::Story);
        note(&two, NOW, Answered::default());
        // Before it is stored each server sees its own.
        assert_eq!(read(&one, NOW.0).await.hours[23].1.answered.requests, 5);
        for _ in 0..2 {
            keep(&one).await.unwrap();
            keep(&two).await.unwrap();
        }
        for site in [&one, &two] {
            let read = read(site, NOW.0 + HOUR).await;
            for figures in [&read.hours[22].1, &read.days[29].1] {
                assert_eq!((figures.answered.requests, figures.answered.refused), (12, 2));
                assert_eq!((figures.answered.times[3], figures.answered.times[4]), (5, 7));
                assert_eq!((figures.of(CountedAction::Story), figures.people), (2, 1));
            }
            assert_eq!(read.hours[23].1, Figures::default());
        }
    }

    #[tokio::test]
    async fn hours_and_days_have_their_own_sums_and_expire() {
        let clock = Arc::new(AtomicU64::new(NOW.0 * 1_000));
        let options = StoreOptions { clock: EngineClock::Manual(clock.clone()), ..StoreOptions::default() };
        let store = Store::open("redb::memory:", &options).await.unwrap();
        let site = site_on(&store);
        let mut seen = None;
        for hours in 0..20 {
            let now = Timestamp(NOW.0 + hours * HOUR);
            site.count(CountedAction::Vote);
            site.of::<ActionCounters>().count_visit(seen, now);
            seen = Some(now);
            note(&site, now, answered(1, 0));
        }
        keep(&site).await.unwrap();
        let end = NOW.0 + 19 * HOUR;
        let read = read(&site, end).await;
        assert_eq!(read.hours.iter().map(|(_, figures)| figures.of(CountedAction::Vote)).sum::<u64>(), 20);
        assert!(read.hours[4..].iter().all(|(_, figures)| figures.people == 1));
        // 16 hours of the first day, and 4 of the next.
        let days: Vec<_> =
            read.days[28..].iter().map(|(_, day)| (day.of(CountedAction::Vote), day.people)).collect();
        assert_eq!(days, [(16, 1), (4, 1)]);
        let of_hour = read::expiry(keys::statistics_of_hour(Hour::of(NOW)));
        let of_day = read::expiry(keys::statistics_of_day(Day::of(NOW)));
        let (of_hour, of_day) = store.fetch((of_hour, of_day)).await.unwrap();
        for (expiry, hours) in [(of_hour, 25), (of_day, 31 * 24)] {
            assert_eq!(expiry, Expiry::In(Duration::from_secs(hours * HOUR)));
        }
        clock.fetch_add(40 * 86_400_000, Ordering::SeqCst);
        let late = Timestamp(end + 10 * HOUR);
        let read = chronicle(&mut Visit::new(site.clone(), late, None)).await.unwrap();
        assert!(read.days.iter().all(|(_, figures)| *figures == Figures::default()));
    }

    #[tokio::test]
    async fn what_cannot_be_stored_is_stored_later() {
        let store = Store::in_memory().await.unwrap();
        let site = site_on(&store);
        note(&site, NOW, answered(5, 0));
        store.close().await;
        assert!(keep(&site).await.is_err());
        assert_eq!(site.of::<Unkept>().all()[0].1.answered.requests, 5);
    }
}

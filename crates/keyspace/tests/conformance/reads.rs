//! Every read: of present and absent keys, and of other types.

use super::{Subject, failure, pairs, scored};
use tidings_keyspace::{Answer, Fetch, Reads, Tracked, read};
use tidings_keyspace::{Expiry, Hash, KeyspaceError, Order, Read};

/// One of every read, on this key.
fn one_of_each(key: &str) -> Vec<Read> {
    let key = || key.to_owned();
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let range = |order, offset, count| Read::SortedRange { key: key(), order, offset, count };
    vec![
        Read::Expiry(key()),
        Read::String(key()),
        Read::Hash(key()),
        Read::HashFields(key(), texts(&["field", "other"])),
        Read::HashFields(key(), Vec::new()),
        Read::FieldCount(key()),
        Read::Members(key()),
        Read::MemberCount(key()),
        Read::HasMember(key(), "member".to_owned()),
        Read::Scores(key(), texts(&["member", "other"])),
        Read::Scores(key(), Vec::new()),
        Read::SortedCount(key()),
        range(Order::Ascending, 0, 10),
        range(Order::Descending, 0, 0),
        range(Order::Ascending, u64::MAX, u64::MAX),
    ]
}

pub(super) async fn absent_keys_read_as_empty(subject: Subject) {
    let reads: Vec<_> = one_of_each("absent").into_iter().map(read::any).collect();
    let answers = subject.ask(reads).await;
    let expected = [
        Answer::Expiry(Expiry::Absent),
        Answer::Text(None),
        Answer::Hash(Hash::default()),
        Answer::Texts(vec![None, None]),
        Answer::Texts(vec![]),
        Answer::Count(0),
        Answer::Members(vec![]),
        Answer::Count(0),
        Answer::Bool(false),
        Answer::Scores(vec![None, None]),
        Answer::Scores(vec![]),
        Answer::Count(0),
        Answer::Scored(vec![]),
        Answer::Scored(vec![]),
        Answer::Scored(vec![]),
    ];
    assert_eq!(answers, expected);
}

pub(super) async fn strings_read_back(subject: Subject) {
    let long = "x".repeat(1_000_000);
    subject
        .write(|batch| {
            batch.set("empty", "");
            batch.set("long", long.as_str());
        })
        .await;
    assert_eq!(subject.ask(read::string("empty")).await.as_deref(), Some(""));
    assert_eq!(subject.ask(read::string("long")).await, Some(long));
    assert_eq!(subject.ask(read::expiry("long")).await, Expiry::Never);
}

pub(super) async fn hashes_read_back(subject: Subject) {
    subject.write(|batch| batch.set_fields("hash", [("a", "1"), ("", "empty field"), ("b", "")])).await;
    let mut hash = subject.ask(read::hash("hash")).await;
    assert_eq!(hash.get("a"), Some("1"));
    assert_eq!(hash.get("c"), None);
    hash.0.sort();
    assert_eq!(hash.0, pairs(&[("", "empty field"), ("a", "1"), ("b", "")]));
    assert_eq!(subject.ask(read::field_count("hash")).await, 3);
}

pub(super) async fn fields_are_answered_in_the_order_asked(subject: Subject) {
    subject.write(|batch| batch.set_fields("hash", [("a", "1"), ("b", "2")])).await;
    let values = subject.ask(read::hash_fields("hash", ["b", "absent", "a", "b"])).await;
    assert_eq!(values, [Some("2".to_owned()), None, Some("1".to_owned()), Some("2".to_owned())]);
}

pub(super) async fn sets_read_back(subject: Subject) {
    subject
        .write(|batch| {
            for member in ["a", "b", "a", ""] {
                batch.add_member("set", member);
            }
        })
        .await;
    let mut members = subject.ask(read::members("set")).await;
    members.sort();
    assert_eq!(members, ["", "a", "b"]);
    assert_eq!(subject.ask(read::member_count("set")).await, 3);
    assert!(subject.ask(read::has_member("set", "")).await);
    assert!(!subject.ask(read::has_member("set", "c")).await);
}

pub(super) async fn scores_are_answered_in_the_order_asked(subject: Subject) {
    subject
        .write(|batch| {
            batch.sorted_add("sorted", "a", 1.0);
            batch.sorted_add("sorted", "b", -2.5);
        })
        .await;
    let scores = subject.ask(read::scores("sorted", ["b", "absent", "a", "b"])).await;
    assert_eq!(scores, [Some(-2.5), None, Some(1.0), Some(-2.5)]);
    assert_eq!(subject.ask(read::sorted_count("sorted")).await, 2);
}

pub(super) async fn every_read_refuses_other_types(subject: Subject) {
    subject.write_one_of_each().await;
    // Which types each of the reads takes, in their order.
    let takes = [
        "string hash set sorted",
        "string",
        "hash",
        "hash",
        "hash",
        "hash",
        "set",
        "set",
        "set",
        "sorted",
        "sorted",
        "sorted",
        "sorted",
        "sorted",
        "sorted",
    ];
    for key in ["string", "hash", "set", "sorted"] {
        let every = one_of_each(key);
        assert_eq!(every.len(), takes.len());
        for (read, takes) in every.into_iter().zip(takes) {
            let answer = subject.store.fetch(read::any(read.clone())).await;
            if takes.split(' ').any(|taken| taken == key) {
                assert!(answer.is_ok(), "{read:?}: {answer:?}");
            } else {
                assert_eq!(failure(&answer.unwrap_err()), format!("wrong type {key}"), "{read:?}");
            }
        }
    }
}

pub(super) async fn the_first_wrong_type_of_a_query_is_named(subject: Subject) {
    subject.write_one_of_each().await;
    let reads = (read::hash("hash"), read::hash("absent"), read::string("set"), read::string("hash"));
    let error = subject.store.fetch(reads).await.unwrap_err();
    assert!(matches!(&error, KeyspaceError::WrongType(key) if key == "set"), "{error}");
}

pub(super) async fn a_tolerated_wrong_type_reads_as_absent_and_spares_the_other_reads(subject: Subject) {
    subject.write_one_of_each().await;
    let wrong = || read::hash_fields("set", ["a", "b"]);
    let scores = || read::scores("string", ["a"]);
    let others = (read::members("set"), read::string("absent"));
    let reads = (read::hash("hash"), (wrong(), scores()).or_absent(), others.or_absent());
    let failures = (wrong().if_readable(), scores().if_readable(), read::members("set").if_readable());
    let fetched = subject.store.fetch((reads, failures, read::string("absent").if_readable())).await.unwrap();
    let ((before, (wrong, scores), (right, absent)), failures, readable) = fetched;
    assert_eq!(failures, (None, None, Some(vec!["member".to_owned()])));
    assert_eq!(readable, Some(None));
    assert_eq!((wrong, scores, absent), (vec![None, None], vec![None], None));
    assert_eq!((before.0, right), (pairs(&[("field", "value")]), vec!["member".to_owned()]));
    let outcomes = [Read::Hash("set".to_owned()), Read::String("absent".to_owned())];
    let outcomes = subject.store.fetch(read::outcomes(outcomes)).await.unwrap();
    let [Err(error), Ok(Answer::Text(None))] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert_eq!(failure(error), "wrong type set");

    let error = subject.store.fetch((read::hash("set").or_absent(), read::string("hash"))).await.unwrap_err();
    assert_eq!(failure(&error), "wrong type hash");
}

pub(super) async fn a_tolerated_read_is_tracked_like_any_other(subject: Subject) {
    subject.write_one_of_each().await;
    subject.settle().await;
    let wrong = subject.store.fetch(read::hash("set").or_absent().tracked()).await.unwrap();
    let mut reads = Reads::default();
    assert!(wrong.collect_into(&mut reads).is_empty());
    let reads = Tracked::new((), reads).into_parts().1;
    assert!(subject.store.is_unchanged(&reads));
    subject.write(|batch| batch.delete("set")).await;
    assert!(!subject.store.is_unchanged(&reads));
}

pub(super) async fn answers_come_in_the_order_of_the_reads(subject: Subject) {
    subject.write_one_of_each().await;
    let sorted = read::sorted_range("sorted", Order::Descending, 0, 5);
    let reads = (read::members("set"), read::string("string"), sorted, read::hash("hash"));
    let (set, string, sorted, hash) = subject.ask(reads).await;
    assert_eq!(hash.0, pairs(&[("field", "value")]));
    assert_eq!(sorted, scored(&[("member", 1.0)]));
    assert_eq!(string.as_deref(), Some("text"));
    assert_eq!(set, ["member"]);
}

pub(super) async fn an_empty_query_costs_no_round(subject: Subject) {
    subject.ask(read::known(())).await;
    assert_eq!(subject.store.rounds(), 0);
}

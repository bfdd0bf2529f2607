//! Sorted sets: order, scores, ranges.

use super::{STRANGE_TEXTS, Subject, scored};
use crate::keyspace::Order;

async fn range(subject: &Subject, order: Order, offset: u64, count: u64) -> Vec<(String, f64)> {
    subject.ask(|query| query.sorted_range("sorted", order, offset, count)).await
}

pub(super) async fn order_is_by_score_then_member_bytes(subject: Subject) {
    let scores = [0.0, -1.5, 1e300, -1e300, 0.1, 2.0, 10.0, -0.000_001, f64::MIN, f64::MAX, 5e-324];
    let mut expected = Vec::new();
    for score in scores {
        for member in STRANGE_TEXTS {
            let member = format!("{member}{score}");
            subject.write(|batch| batch.sorted_add("sorted", member.clone(), score)).await;
            expected.push((member, score));
        }
    }
    // And many ties.
    for member in STRANGE_TEXTS {
        subject.write(|batch| batch.sorted_add("sorted", member, 7.0)).await;
        expected.push((member.to_owned(), 7.0));
    }
    expected.sort_by(|(member, score), (other, other_score)| {
        score.total_cmp(other_score).then_with(|| member.as_bytes().cmp(other.as_bytes()))
    });
    assert_eq!(range(&subject, Order::Ascending, 0, 1000).await, expected);
    expected.reverse();
    assert_eq!(range(&subject, Order::Descending, 0, 1000).await, expected);
    assert_eq!(range(&subject, Order::Descending, 5, 7).await, expected[5..12]);
}

pub(super) async fn scores_are_exact(subject: Subject) {
    let scores = [
        0.1,
        1.0 / 3.0,
        -1.0 / 3.0,
        1e15,
        1e16,
        1e17,
        123_456_789_012_345_680.0,
        9_007_199_254_740_993.0,
        1e-7,
        5e-324,
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::MIN,
        f64::EPSILON,
        1_700_000_000.123_456_7,
    ];
    for score in scores {
        subject.write(|batch| batch.sorted_add("sorted", format!("{score}"), score)).await;
        let answer = subject.ask(|query| query.scores("sorted", [format!("{score}")])).await;
        assert_eq!(answer[0].map(f64::to_bits), Some(score.to_bits()), "{score}");
    }
    for (member, score) in range(&subject, Order::Ascending, 0, 100).await {
        assert_eq!(member, format!("{score}"));
    }
}

pub(super) async fn both_zeros_are_one_score(subject: Subject) {
    subject
        .write(|batch| {
            batch.sorted_add("sorted", "b", -0.0);
            batch.sorted_add("sorted", "a", 0.0);
            batch.sorted_add("sorted", "c", 0.0);
        })
        .await;
    let members = range(&subject, Order::Ascending, 0, 9).await;
    assert_eq!(members, scored(&[("a", 0.0), ("b", 0.0), ("c", 0.0)]));
    assert!(members.iter().all(|(_, score)| score.is_sign_positive()));
    subject.write(|batch| batch.sorted_add("sorted", "a", -0.0)).await;
    assert_eq!(range(&subject, Order::Ascending, 0, 9).await, members);
    let scores = subject.ask(|query| query.scores("sorted", ["b"])).await;
    assert!(scores[0].unwrap().is_sign_positive());
}

pub(super) async fn a_new_score_moves_a_member(subject: Subject) {
    subject
        .write(|batch| {
            batch.sorted_add("sorted", "a", 1.0);
            batch.sorted_add("sorted", "b", 2.0);
        })
        .await;
    subject.write(|batch| batch.sorted_add("sorted", "a", 3.0)).await;
    assert_eq!(range(&subject, Order::Ascending, 0, 9).await, scored(&[("b", 2.0), ("a", 3.0)]));
    assert_eq!(subject.ask(|query| query.sorted_count("sorted")).await, 2);
}

pub(super) async fn ranges_end_where_the_set_ends(subject: Subject) {
    subject
        .write(|batch| {
            for number in 0..5_u8 {
                batch.sorted_add("sorted", number.to_string(), number.into());
            }
        })
        .await;
    let members = |members: &str| -> Vec<(String, f64)> {
        members.chars().map(|member| (member.to_string(), f64::from(member.to_digit(10).unwrap()))).collect()
    };
    for (offset, count, ascending, descending) in [
        (0, 0, "", ""),
        (0, 1, "0", "4"),
        (0, 5, "01234", "43210"),
        (0, 6, "01234", "43210"),
        (0, u64::MAX, "01234", "43210"),
        (4, 1, "4", "0"),
        (4, 2, "4", "0"),
        (3, u64::MAX, "34", "10"),
        (5, 1, "", ""),
        (5, u64::MAX, "", ""),
        (3, 0, "", ""),
        (u64::MAX, 1, "", ""),
        (u64::MAX, u64::MAX, "", ""),
        (i64::MAX.unsigned_abs(), 3, "", ""),
    ] {
        assert_eq!(
            range(&subject, Order::Ascending, offset, count).await,
            members(ascending),
            "{offset} {count}"
        );
        assert_eq!(
            range(&subject, Order::Descending, offset, count).await,
            members(descending),
            "{offset} {count}"
        );
    }
}

pub(super) async fn trim_keeps_the_highest(subject: Subject) {
    subject
        .write(|batch| {
            for number in 0..5_u8 {
                batch.sorted_add("sorted", number.to_string(), number.into());
            }
            // A tie: the member of the higher bytes is the higher one.
            batch.sorted_add("sorted", "3x", 3.0);
        })
        .await;
    for keep in [u64::MAX, i64::MAX.unsigned_abs(), 7, 6] {
        subject.write(|batch| batch.sorted_trim("sorted", keep)).await;
        assert_eq!(subject.ask(|query| query.sorted_count("sorted")).await, 6, "{keep}");
    }
    subject.write(|batch| batch.sorted_trim("sorted", 2)).await;
    assert_eq!(range(&subject, Order::Ascending, 0, 9).await, scored(&[("3x", 3.0), ("4", 4.0)]));
    assert_eq!(subject.ask(|query| query.scores("sorted", ["3", "0"])).await, [None, None]);
    subject.write(|batch| batch.sorted_add("sorted", "3", 1.0)).await;
    assert_eq!(subject.ask(|query| query.sorted_count("sorted")).await, 3);
}

pub(super) async fn neighbours_do_not_mix(subject: Subject) {
    // Keys and members that would be the same if they were joined carelessly.
    let keys = ["", "a", "ab", "b", "a\0", "\0", "\0\0\0\u{1}a"];
    for key in keys {
        for member in keys {
            subject
                .write(|batch| {
                    batch.sorted_add(format!("z{key}"), member, 1.0);
                    batch.add_member(format!("s{key}"), member);
                    for number in 0..30 {
                        batch.set_field(format!("h{key}"), format!("{member}{number}"), "v".repeat(50));
                    }
                })
                .await;
        }
    }
    subject
        .write(|batch| {
            for kind in ["z", "s", "h"] {
                batch.delete(format!("{kind}a"));
                batch.delete(kind);
            }
        })
        .await;
    for key in keys {
        let left = if key.is_empty() || key == "a" { 0 } else { keys.len() };
        let range =
            subject.ask(|query| query.sorted_range(format!("z{key}"), Order::Descending, 0, 99)).await;
        assert_eq!(range.len(), left, "{key:?}");
        assert_eq!(subject.ask(|query| query.members(format!("s{key}"))).await.len(), left, "{key:?}");
        assert_eq!(subject.ask(|query| query.hash(format!("h{key}"))).await.0.len(), left * 30, "{key:?}");
    }
}

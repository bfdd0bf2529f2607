//! Sorted sets: order, scores, ranges.

use super::{STRANGE_TEXTS, Subject, scored};
use std::time::Duration;
use tidings_keyspace::{Batch, Bound, CommitError, Expiry, KeyspaceError, Order, Selection, Within, read};

async fn range(subject: &Subject, order: Order, offset: u64, count: u64) -> Vec<(String, f64)> {
    subject.ask(read::sorted_range("sorted", order, offset, count)).await
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
    // Many members with equal scores.
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
        let answer = subject.ask(read::scores("sorted", [format!("{score}")])).await;
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
    let scores = subject.ask(read::scores("sorted", ["b"])).await;
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
    assert_eq!(subject.ask(read::sorted_count("sorted")).await, 2);
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
            // Of two members with equal scores, the one with the higher bytes is higher.
            batch.sorted_add("sorted", "3x", 3.0);
        })
        .await;
    for keep in [u64::MAX, i64::MAX.unsigned_abs(), 7, 6] {
        subject.write(|batch| batch.sorted_trim("sorted", keep)).await;
        assert_eq!(subject.ask(read::sorted_count("sorted")).await, 6, "{keep}");
    }
    subject.write(|batch| batch.sorted_trim("sorted", 2)).await;
    assert_eq!(range(&subject, Order::Ascending, 0, 9).await, scored(&[("3x", 3.0), ("4", 4.0)]));
    assert_eq!(subject.ask(read::scores("sorted", ["3", "0"])).await, [None, None]);
    subject.write(|batch| batch.sorted_add("sorted", "3", 1.0)).await;
    assert_eq!(subject.ask(read::sorted_count("sorted")).await, 3);
}

pub(super) async fn ranges_by_score_include_their_bounds(subject: Subject) {
    subject
        .write(|batch| {
            for (member, score) in [("a", -1.5), ("b", 0.0), ("c", 0.1), ("d", 0.1), ("e", 7.0)] {
                batch.sorted_add("sorted", member, score);
            }
            batch.sorted_add("neighbour", "x", 0.1);
        })
        .await;
    for (least, most, count, expected) in [
        (f64::NEG_INFINITY, f64::INFINITY, 9, "abcde"),
        (f64::MIN, f64::MAX, u64::MAX, "abcde"),
        (-1.5, 0.1, 9, "abcd"),
        (0.0, 0.1, 9, "bcd"),
        (-0.0, 0.0, 9, "b"),
        (0.1, 0.1, 9, "cd"),
        (0.1_f64.next_up(), 9.0, 9, "e"),
        (0.0, 0.1_f64.next_down(), 9, "b"),
        (8.0, 9.0, 9, ""),
        (0.1, 0.0, 9, ""),
        (f64::INFINITY, f64::NEG_INFINITY, 9, ""),
        (0.0, 9.0, 0, ""),
    ] {
        let ask = async |order| {
            let found = subject.ask(read::sorted_by_score("sorted", order, (least, most), count)).await;
            found.into_iter().map(|(member, _)| member).collect::<String>()
        };
        let reversed: String = expected.chars().rev().collect();
        assert_eq!(ask(Order::Ascending).await, expected, "{least} {most} {count}");
        assert_eq!(ask(Order::Descending).await, reversed, "{least} {most} {count}");
    }
    let limited = |order| subject.ask(read::sorted_by_score("sorted", order, (-9.0, 0.1), 3));
    assert_eq!(limited(Order::Ascending).await, scored(&[("a", -1.5), ("b", 0.0), ("c", 0.1)]));
    assert_eq!(limited(Order::Descending).await, scored(&[("d", 0.1), ("c", 0.1), ("b", 0.0)]));
    assert_eq!(subject.ask(read::sorted_by_score("none", Order::Ascending, (0.0, 1.0), 3)).await, []);
}

fn bound(keep: u64) -> Bound {
    Bound { keep, floors: "floors".to_owned(), member: "mine".to_owned() }
}

async fn floor(subject: &Subject) -> Option<f64> {
    subject.ask(read::scores("floors", ["mine"])).await[0]
}

pub(super) async fn a_bounded_set_notes_what_it_lost(subject: Subject) {
    for (member, score) in [("a", 1.0), ("b", 0.1), ("c", 3.0)] {
        subject.write(|batch| batch.sorted_add_bounded("sorted", member, score, bound(3))).await;
    }
    assert_eq!(floor(&subject).await, None);
    // A new score for an existing member removes no other.
    subject.write(|batch| batch.sorted_add_bounded("sorted", "c", 2.0, bound(3))).await;
    assert_eq!(floor(&subject).await, None);
    subject.write(|batch| batch.sorted_add_bounded("sorted", "d", 4.0, bound(3))).await;
    assert_eq!(range(&subject, Order::Ascending, 0, 9).await, scored(&[("a", 1.0), ("c", 2.0), ("d", 4.0)]));
    assert_eq!(floor(&subject).await, Some(0.1));
    // A smaller bound removes several members; the highest of them sets the floor.
    subject.write(|batch| batch.sorted_add_bounded("sorted", "e", 5.0, bound(1))).await;
    assert_eq!(range(&subject, Order::Ascending, 0, 9).await, scored(&[("e", 5.0)]));
    assert_eq!(floor(&subject).await, Some(4.0));
}

pub(super) async fn a_floor_never_falls(subject: Subject) {
    subject
        .write(|batch| {
            batch.sorted_add("floors", "mine", 10.0);
            batch.sorted_add("floors", "other", 1.0);
            batch.sorted_add_bounded("sorted", "a", 20.0, bound(1));
            // The new member itself is the lowest, and is removed.
            batch.sorted_add_bounded("sorted", "b", 5.0, bound(1));
        })
        .await;
    assert_eq!(range(&subject, Order::Ascending, 0, 9).await, scored(&[("a", 20.0)]));
    assert_eq!(floor(&subject).await, Some(10.0));
    subject.write(|batch| batch.sorted_add_bounded("sorted", "c", 15.0, bound(1))).await;
    assert_eq!(floor(&subject).await, Some(15.0));
    subject.write(|batch| batch.sorted_add_bounded("sorted", "d", 30.0, bound(0))).await;
    assert_eq!(subject.ask(read::sorted_count("sorted")).await, 0);
    assert_eq!(floor(&subject).await, Some(30.0));
}

pub(super) async fn scores_are_raised_and_never_lowered(subject: Subject) {
    for (score, expected) in [(1.5, 1.5), (-2.0, 1.5), (1.5, 1.5), (7.25, 7.25)] {
        subject.write(|batch| batch.sorted_raise("sorted", "a", score)).await;
        assert_eq!(range(&subject, Order::Ascending, 0, 9).await, scored(&[("a", expected)]));
    }
}

pub(super) async fn an_appended_member_comes_last(subject: Subject) {
    for member in ["a", "b", "c", "a"] {
        subject.write(|batch| batch.sorted_append("sorted", member)).await;
    }
    let expected = [("b", 2.0), ("c", 3.0), ("a", 4.0)];
    assert_eq!(range(&subject, Order::Ascending, 0, 9).await, scored(&expected));
    // A large set is stored in another way.
    for number in 0..300 {
        subject.write(|batch| batch.sorted_append("sorted", number.to_string())).await;
    }
    subject.write(|batch| batch.sorted_append("sorted", "b")).await;
    assert_eq!(range(&subject, Order::Descending, 0, 2).await, scored(&[("b", 305.0), ("299", 304.0)]));
}

pub(super) async fn scores_are_incremented(subject: Subject) {
    for by in [432.0, 0.5, -500.0, 0.0] {
        subject.write(|batch| batch.sorted_increment("sorted", "a", by)).await;
    }
    subject
        .write(|batch| {
            batch.sorted_increment("sorted", "b", 1.0);
            batch.sorted_increment("sorted", "b", 1.0);
        })
        .await;
    assert_eq!(range(&subject, Order::Ascending, 0, 9).await, scored(&[("a", -67.5), ("b", 2.0)]));
}

pub(super) async fn neighbours_do_not_mix(subject: Subject) {
    // Keys and members that would be equal if they were joined without lengths.
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
        let range = subject.ask(read::sorted_range(format!("z{key}"), Order::Descending, 0, 99)).await;
        assert_eq!(range.len(), left, "{key:?}");
        assert_eq!(subject.ask(read::members(format!("s{key}"))).await.len(), left, "{key:?}");
        assert_eq!(subject.ask(read::hash(format!("h{key}"))).await.0.len(), left * 30, "{key:?}");
    }
}

fn selection(sets: &[&str], within: Within) -> Selection {
    Selection {
        scores: "scores".to_owned(),
        sets: sets.iter().map(|set| (*set).to_owned()).collect(),
        within,
    }
}

/// Five members by score, the sets `even` and `low`, and one that is in no
/// list of scores.
async fn write_sources(subject: &Subject) {
    subject
        .write(|batch| {
            for (member, score) in [("0", 10.0), ("1", -1.5), ("2", 0.0), ("3", 0.0), ("4", 1e300)] {
                batch.sorted_add("scores", member, score);
            }
            for (set, members) in [("even", ["0", "2", "4", "absent"]), ("low", ["0", "1", "2", "absent"])] {
                for member in members {
                    batch.add_member(set, member);
                }
            }
        })
        .await;
}

pub(super) async fn a_selection_takes_what_is_in_all_or_any_of_the_sets(subject: Subject) {
    write_sources(&subject).await;
    for (sets, within, expected) in [
        (&["even"][..], Within::All, "204"),
        (&["even"], Within::Any, "204"),
        (&["even", "low"], Within::All, "20"),
        (&["even", "low"], Within::Any, "1204"),
        (&["even", "even"], Within::All, "204"),
        (&["even", "none"], Within::All, ""),
        (&["even", "none"], Within::Any, "204"),
        (&["none"], Within::Any, ""),
    ] {
        subject.write(|batch| batch.sorted_store("sorted", selection(sets, within))).await;
        let found = range(&subject, Order::Ascending, 0, 9).await;
        let members: String = found.iter().map(|(member, _)| member.as_str()).collect();
        assert_eq!(members, expected, "{sets:?} {within:?}");
    }
    let whole = Selection { scores: "none".to_owned(), ..selection(&["even"], Within::All) };
    subject.write(|batch| batch.sorted_store("sorted", whole.clone())).await;
    assert_eq!(subject.ask(read::expiry("sorted")).await, Expiry::Absent);
}

pub(super) async fn a_selection_replaces_what_its_key_held(subject: Subject) {
    write_sources(&subject).await;
    let hour = Duration::from_secs(3600);
    subject.write(|batch| batch.set_expiring("sorted", "text", hour)).await;
    subject.write(|batch| batch.sorted_store("sorted", selection(&["low"], Within::All))).await;
    assert_eq!(subject.ask(read::expiry("sorted")).await, Expiry::Never);
    assert_eq!(
        range(&subject, Order::Descending, 0, 9).await,
        scored(&[("0", 10.0), ("2", 0.0), ("1", -1.5)])
    );
    subject.write(|batch| batch.sorted_store("sorted", selection(&["none"], Within::All))).await;
    assert_eq!(subject.ask(read::expiry("sorted")).await, Expiry::Absent);
    // The selection sees the writes before it. The write after it lets it expire.
    subject
        .write(|batch| {
            batch.remove_member("low", "0");
            batch.sorted_store("sorted", selection(&["low"], Within::All));
            batch.expire("sorted", hour);
        })
        .await;
    assert_eq!(range(&subject, Order::Ascending, 0, 9).await, scored(&[("1", -1.5), ("2", 0.0)]));
    assert!(matches!(subject.ask(read::expiry("sorted")).await, Expiry::In(_)));
}

pub(super) async fn a_selection_can_be_changed_like_any_sorted_set(subject: Subject) {
    write_sources(&subject).await;
    subject
        .write(|batch| {
            batch.sorted_store("sorted", selection(&["even", "low"], Within::Any));
            batch.expire("sorted", Duration::from_secs(3600));
        })
        .await;
    subject
        .write(|batch| {
            batch.sorted_add("sorted", "new", 0.0);
            batch.sorted_add("sorted", "0", -9.0);
            batch.sorted_increment("sorted", "1", 2.5);
            batch.sorted_remove("sorted", "4");
            batch.sorted_remove("sorted", "other");
        })
        .await;
    let expected = scored(&[("0", -9.0), ("2", 0.0), ("new", 0.0), ("1", 1.0)]);
    assert_eq!(range(&subject, Order::Ascending, 0, 9).await, expected);
    assert_eq!(range(&subject, Order::Descending, 1, 2).await, scored(&[("new", 0.0), ("2", 0.0)]));
    assert_eq!(subject.ask(read::scores("sorted", ["1", "4"])).await, [Some(1.0), None]);
    assert_eq!(
        subject.ask(read::sorted_by_score("sorted", Order::Descending, (0.0, 1.0), 2)).await,
        scored(&[("1", 1.0), ("new", 0.0)])
    );
    assert!(matches!(subject.ask(read::expiry("sorted")).await, Expiry::In(_)));
    subject.write(|batch| batch.sorted_trim("sorted", 1)).await;
    assert_eq!(range(&subject, Order::Ascending, 0, 9).await, scored(&[("1", 1.0)]));
    subject.write(|batch| batch.sorted_remove("sorted", "1")).await;
    assert_eq!(subject.ask(read::expiry("sorted")).await, Expiry::Absent);
}

pub(super) async fn a_selection_from_another_type_is_refused(subject: Subject) {
    write_sources(&subject).await;
    subject.write(|batch| batch.set("text", "value")).await;
    for (scores, sets, culprit) in [
        ("text", ["even", "low"], "text"),
        ("even", ["even", "low"], "even"),
        ("scores", ["even", "scores"], "scores"),
        ("scores", ["text", "low"], "text"),
    ] {
        let selection = Selection { scores: scores.to_owned(), ..selection(&sets, Within::All) };
        let mut batch = Batch::new();
        batch.set("other", "1");
        batch.sorted_store("sorted", selection);
        let refused = subject.store.commit(batch).await;
        let Err(CommitError::Keyspace(KeyspaceError::WrongType(key))) = refused else {
            panic!("{scores} {sets:?}: {refused:?}");
        };
        assert_eq!(key, culprit);
        assert_eq!(subject.ask(read::string("other")).await, None);
    }
    for (key, sets) in
        [("scores", &["even"][..]), ("even", &["even"]), ("sorted", &[]), ("sorted", &["x"; 65])]
    {
        let refused = subject.commit(|batch| batch.sorted_store(key, selection(sets, Within::All))).await;
        assert!(matches!(refused, Err(CommitError::Keyspace(KeyspaceError::Invalid(_)))), "{key} {sets:?}");
    }
}

pub(super) async fn many_members_are_selected(subject: Subject) {
    // Large and small shares of both, for which an engine may use different algorithms.
    subject
        .write(|batch| {
            for number in 0..2_000_u16 {
                let member = number.to_string();
                batch.sorted_add("scores", &member, f64::from(number % 100));
                for divisor in [2, 3, 8, 9, 500] {
                    if number.is_multiple_of(divisor) {
                        batch.add_member(format!("by{divisor}"), &member);
                    }
                }
            }
        })
        .await;
    for (sets, within, count) in [
        (&["by2"][..], Within::All, 1_000),
        // The embedded engine reads all scores when at least one in eight is a candidate.
        (&["by8"], Within::All, 250),
        (&["by9"], Within::All, 223),
        (&["by2", "by3"], Within::All, 334),
        (&["by2", "by3"], Within::Any, 1_333),
        (&["by500", "by2"], Within::All, 4),
        (&["by3", "by500"], Within::All, 2),
        (&["by500"], Within::Any, 4),
    ] {
        subject.write(|batch| batch.sorted_store("sorted", selection(sets, within))).await;
        let found = range(&subject, Order::Ascending, 0, 9_999).await;
        assert_eq!(found.len(), count, "{sets:?} {within:?}");
        assert!(found.iter().all(|(member, score)| {
            let number: u16 = member.parse().unwrap();
            let mut inside =
                sets.iter().map(|set| number.is_multiple_of(set.trim_start_matches("by").parse().unwrap()));
            let fits = if within == Within::All { inside.all(|fits| fits) } else { inside.any(|fits| fits) };
            fits && *score == f64::from(number % 100)
        }));
        assert!(found.is_sorted_by(|(left, left_score), (right, right_score)| {
            left_score.total_cmp(right_score).then_with(|| left.cmp(right)).is_lt()
        }));
    }
}

pub(super) async fn a_member_is_added_only_to_a_set_that_is_there(subject: Subject) {
    subject.write(|batch| batch.sorted_add_if_present("sorted", "a", 1.0)).await;
    assert_eq!(subject.ask(read::expiry("sorted")).await, Expiry::Absent);
    subject
        .write(|batch| {
            batch.sorted_add("sorted", "b", 2.0);
            batch.sorted_add_if_present("sorted", "a", 1.0);
            batch.sorted_add_if_present("sorted", "b", 0.5);
        })
        .await;
    assert_eq!(range(&subject, Order::Ascending, 0, 9).await, scored(&[("b", 0.5), ("a", 1.0)]));
    subject
        .write(|batch| {
            batch.delete("sorted");
            batch.sorted_add_if_present("sorted", "a", 1.0);
            batch.set("text", "value");
        })
        .await;
    assert_eq!(subject.ask(read::sorted_count("sorted")).await, 0);
    let refused = subject.commit(|batch| batch.sorted_add_if_present("text", "a", 1.0)).await;
    assert!(matches!(refused, Err(CommitError::Keyspace(KeyspaceError::WrongType(_)))), "{refused:?}");
}

//! The lists and counts of comments, by rules of their own: the program derives them from each comment, and so does its
//! check of a store, which cannot see what that forgets.

use std::collections::BTreeSet;

use super::{Dump, hash, members, scores};

/// Checks the comments of a story that counts so many.
pub fn check_thread(dump: &Dump, id: u64, counted: usize) {
    let mut thread = hash(dump, &format!("thread:comment:{id}"));
    let drawn: u64 = thread.remove("nextid").map_or(0, |nextid| nextid.parse().unwrap());
    let mut alive = 0;
    for (comment, json) in &thread {
        assert!(comment.parse::<u64>().unwrap() <= drawn, "comment {id}-{comment}");
        let comment_json: serde_json::Value = serde_json::from_str(json).unwrap();
        let author = &comment_json["user_id"];
        let listed = scores(dump, &format!("user.comments:{author}"));
        let unseen = scores(dump, &format!("unseen:{author}"));
        let (listed, unseen) =
            (listed.get(&format!("{id}-{comment}")), unseen.get(&format!("comment:{id}-{comment}")));
        let state = comment_json["withheld"].as_str().unwrap_or_default();
        let [is_held, is_removed, is_erased] =
            ["held:", "removed:", "erased:"].map(|hidden| state.starts_with(hidden));
        // One that waits, or was taken away while it waited, was never shown.
        let was_shown = !is_held && comment_json["unseen"] != 1;
        let place = (listed.is_some(), unseen.is_some());
        assert_eq!(place, (was_shown, !was_shown && !is_erased), "comment {id}-{comment}: {json}");
        let time = listed.or(unseen);
        assert!(
            time.is_none_or(|time| comment_json["ctime"].as_f64() == Some(*time)),
            "comment {id}-{comment}"
        );
        let removed_by = comment_json["removed"].as_str().map(|removed| removed.split(' ').next().unwrap());
        assert!(removed_by.is_none() || is_removed, "comment {id}-{comment}: {json}");
        assert!(removed_by.is_some() || !(is_removed && was_shown), "comment {id}-{comment}: {json}");
        if let Some(line) = removed_by {
            let action = hash(dump, &format!("moderation:{line}"))["action"].clone();
            assert!(
                ["remove", "remove_all"].contains(&&*action),
                "comment {id}-{comment}: {json} by {action}"
            );
        }
        let voters = |field: &str| -> Vec<u64> {
            comment_json[field].as_array().into_iter().flatten().map(|id| id.as_u64().unwrap()).collect()
        };
        let all: Vec<u64> = [voters("up"), voters("down")].concat();
        let different: BTreeSet<&u64> = all.iter().collect();
        assert_eq!(different.len(), all.len(), "comment {id}-{comment} is voted on twice by a user");
        alive += usize::from(comment_json["del"] != 1 && !(is_held || is_removed || is_erased));
    }
    assert_eq!(counted, alive, "comments of item {id}");
}

/// Checks that the lists of a user have only comments of that user.
pub fn check_lists(dump: &Dump, id: u64) {
    let unseen = members(dump, &format!("unseen:{id}"));
    let unseen = unseen.iter().filter_map(|member| member.strip_prefix("comment:"));
    let listed = members(dump, &format!("user.comments:{id}"));
    for address in listed.iter().map(String::as_str).chain(unseen) {
        let (news, comment) = address.split_once('-').unwrap();
        let thread = hash(dump, &format!("thread:comment:{news}"));
        let json = thread.get(comment).unwrap_or_else(|| panic!("a list of user {id} has {address}"));
        let comment: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(comment["user_id"], id, "a list of user {id} has {address}");
    }
}

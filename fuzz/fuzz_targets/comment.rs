//! Any text as a stored comment, as another program may have written it: read
//! or passed over. A comment that is read can be counted and voted on without surprise.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tidings_domain::Comment;
use tidings_domain::comments::outline::arrange;
use tidings_domain::values::{NewsId, UserId};

fuzz_target!(|fields: Vec<(u8, &str)>| {
    let mut comments: Vec<Comment> = Vec::new();
    for (number, json) in fields {
        assert_eq!(Comment::from_field(NewsId(7), "nextid", json), None);
        assert_eq!(Comment::from_field(NewsId(7), "0", json), None);
        let Some(comment) = Comment::from_field(NewsId(7), &number.to_string(), json) else {
            continue;
        };
        assert_eq!(comment.id.0, u64::from(number));
        let score = i128::from(comment.score());
        assert_eq!(score, comment.up.len() as i128 - comment.down.len() as i128);
        for voter in comment.up.iter().chain(&comment.down) {
            assert!(comment.vote_of(UserId(*voter)).is_some());
        }
        // A thread is a hash: an id comes once.
        if comments.iter().all(|other| other.id != comment.id) {
            comments.push(comment);
        }
    }
    check_arranged(comments);
});

/// Nothing that can be seen is lost, and answers stand below what they answer.
fn check_arranged(comments: Vec<Comment>) {
    let visible = comments.iter().filter(|comment| !comment.deleted).count();
    let total = comments.len();
    let arranged = arrange(comments);
    assert_eq!(arranged.iter().filter(|(_, comment)| !comment.deleted).count(), visible);
    assert!(arranged.len() <= total);
    let mut path: Vec<u64> = Vec::new();
    for (depth, comment) in &arranged {
        assert!(*depth <= path.len(), "a comment is too deep");
        path.truncate(*depth);
        if let Some(parent) = path.last() {
            assert_eq!(comment.parent_id.map(|id| id.0), Some(*parent));
        }
        path.push(comment.id.0);
    }
}

//! The rule of the lists of unseen posts.

use crate::comments::comment::Comment;
use crate::keys::{self, families};
use crate::post_state::may_be_unseen;
use crate::store_rules::Rule;
use crate::store_rules::claims::{Claims, Mend, field_in, fields, is_absent};
use crate::store_rules::subject::Subject;
use crate::values::ids::UserId;
use crate::values::moderation::Thing;
use crate::values::withheld::{WITHHELD, Withheld};
use tidings_keyspace::Read;

pub(crate) static RULES: &[Rule] = &[Rule::claims(
    &families::USER_UNSEEN,
    "the list of a user's unseen posts has only posts of that user that wait, were rejected or were removed",
    unseen,
)];

const LOST_THREAD: Mend = Mend::Person("restore the thread from a backup, or remove the member");

fn unseen(subject: &Subject, claims: &mut Claims) {
    let expected = "posts of the user that wait, were rejected or were removed";
    let (Some(user), Some((member, _))) = (subject.id::<UserId>(), subject.member()) else { return };
    let (member, removal) = (member.to_owned(), subject.removal());
    let thing = member.parse();
    let (key, field) = match &thing {
        Ok(Thing::Story(id)) => (keys::news(*id), WITHHELD.to_owned()),
        Ok(Thing::Tweet(id)) => (keys::tweet(*id), WITHHELD.to_owned()),
        Ok(Thing::Comment(address)) => (keys::thread(address.news), address.comment.to_string()),
        _ => return claims.unreadable(expected),
    };
    let reads = vec![fields(key.clone(), [&field, "user_id"]), Read::Expiry(key.clone())];
    claims.expects(expected, reads, move |answers| {
        let stored = field_in(answers, 0, 0);
        let (author, state) = if let Ok(Thing::Comment(address)) = &thing {
            // No action deletes a thread: it was lost.
            if is_absent(answers, 1) {
                return Some((format!("the member {member}, whose thread does not exist"), LOST_THREAD));
            }
            let comment = stored.map(|json| Comment::from_field(address.news, &field, json));
            // A comment that cannot be read is reported itself.
            let comment = if comment == Some(None) { return None } else { comment.flatten() };
            comment.map_or((None, None), |comment| (Some(comment.user_id), comment.withheld))
        } else {
            let author = field_in(answers, 0, 1).and_then(|author| author.parse().ok());
            (author, stored.map(Withheld::stored))
        };
        if let Some(Withheld::Unreadable(_)) = state {
            return None;
        }
        let mut batch = removal.clone();
        batch.field_unchanged(&key, &field, stored);
        let is_right = author == Some(user) && may_be_unseen(state.as_ref());
        let found = || format!("the member {member}, which does not belong here");
        (!is_right).then(|| (found(), Mend::write(batch, "remove the member")))
    });
}

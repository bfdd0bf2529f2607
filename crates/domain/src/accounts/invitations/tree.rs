//! The tree of who invited whom, which everybody can see.
//!
//! It is read level by level, each level in one round, so a page takes the same few rounds
//! however many people it shows. It shows four levels and at most 500 people; what is left out
//! is on the pages of single people.

use crate::accounts::People;
use crate::values::{TREE_BRANCHES, TREE_LEVELS, TREE_PAGE, TREE_PEOPLE, Timestamp, UserId};
use crate::{Refusal, Result, User, Visit, fields, keys};
use std::ops::Range;
use tidings_keyspace::{Fetch, Order, Reads, read};

/// Somebody in the tree, with those whom they invited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// The account.
    pub id: UserId,
    /// Its name; `None` once it is deactivated.
    pub username: Option<String>,
    /// When it was created.
    pub since: Timestamp,
    /// How many people it invited, those that are not shown too.
    pub invited: u64,
    /// Those that are shown, in the order in which they came.
    pub branches: Vec<Branch>,
}

/// A page of the tree, or of what is below one person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreePage {
    /// The people at the top, in the order in which they came.
    pub branches: Vec<Branch>,
    /// How many people are at the top of all pages together.
    pub total: u64,
}

/// The tree from the `start`th person on who has invited somebody and was not invited. Rounds:
/// at most 5.
pub async fn tree(visit: &mut Visit, start: u64) -> Result<TreePage> {
    page_of(visit, keys::INVITES_ROOTS, start).await
}

/// The page of one person in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchPage {
    /// The name.
    pub username: String,
    /// The name of the inviter; `None` if nobody invited them, or for a deactivated account.
    pub inviter: Option<String>,
    /// Those whom they invited.
    pub page: TreePage,
}

/// The tree below one person, from the `start`th of those whom they invited on. Rounds: at most
/// 8.
///
/// # Errors
/// [`Refusal::NoSuchUser`], or the store's.
pub async fn branch(visit: &mut Visit, username: &str, start: u64) -> Result<BranchPage> {
    let id = crate::accounts::people::id_of(visit, username).await?;
    let user = visit.fetch(User::by_id(id)).await?.ok_or(Refusal::NoSuchUser)?;
    let inviter = inviter_of(visit, &user, &mut Reads::default()).await?;
    let page = page_of(visit, &keys::invites_by(id), start).await?;
    Ok(BranchPage { username: user.username, inviter, page })
}

/// The tree below the people of a list.
async fn page_of(visit: &mut Visit, list: &str, start: u64) -> Result<TreePage> {
    let top = read::sorted_range(list, Order::Ascending, start, TREE_PAGE);
    let (top, total) = visit.fetch((top, read::sorted_count(list))).await?;
    let mut people = Vec::new();
    add(&mut people, None, list, top);
    let mut level = 0..people.len();
    for depth in 1..=TREE_LEVELS {
        if level.is_empty() {
            break;
        }
        read_level(visit, &mut people, level.clone(), depth == TREE_LEVELS).await?;
        level = level.end..people.len();
    }
    Ok(TreePage { branches: nested(people), total })
}

/// Somebody in a tree while it is read: people are in the order of their levels.
struct Grown {
    /// The position of who invited them.
    parent: Option<usize>,
    branch: Branch,
}

/// Adds people to the next level, as many as there is room for.
fn add(people: &mut Vec<Grown>, parent: Option<usize>, list: &str, members: Vec<(String, f64)>) {
    let members = fields::members(members, list, |(id, time)| {
        Some((id.parse::<UserId>().ok()?, Timestamp::from_score(time)))
    });
    for (id, since) in members.into_iter().take(TREE_PEOPLE.saturating_sub(people.len())) {
        let branch = Branch { id, username: None, since, invited: 0, branches: Vec::new() };
        people.push(Grown { parent, branch });
    }
}

/// Reads the names of a level and whom its people invited, unless it is the last that is shown. Rounds: 1.
async fn read_level(
    visit: &mut Visit,
    people: &mut Vec<Grown>,
    level: Range<usize>,
    is_last: bool,
) -> Result<()> {
    let ids: Vec<UserId> =
        people.get(level.clone()).unwrap_or_default().iter().map(|it| it.branch.id).collect();
    let invited = |id: &UserId| {
        let list = keys::invites_by(*id);
        let below = (!is_last).then(|| read::sorted_range(&list, Order::Ascending, 0, TREE_BRANCHES));
        (read::sorted_count(&list), below).or_absent().map(|(count, below)| (list, count, below))
    };
    let invited = ids.iter().map(invited).collect::<Vec<_>>();
    let (names, invited) = visit.fetch((People::of(ids.iter().copied()), invited)).await?;
    for ((at, id), (list, count, below)) in level.zip(ids).zip(invited) {
        if let Some(grown) = people.get_mut(at) {
            grown.branch.username = names.get(id).map(|names| names.username.clone());
            grown.branch.invited = count;
        }
        if let Some(below) = below {
            add(people, Some(at), &list, below);
        }
    }
    Ok(())
}

/// The people at the top, with those below them.
fn nested(mut people: Vec<Grown>) -> Vec<Branch> {
    let mut top = Vec::new();
    // From the last level up, so that everybody is complete before they are moved.
    while let Some(Grown { parent, mut branch }) = people.pop() {
        branch.branches.reverse();
        match parent.and_then(|parent| people.get_mut(parent)) {
            Some(parent) => parent.branch.branches.push(branch),
            None => top.push(branch),
        }
    }
    top.reverse();
    top
}

/// The name of who invited a user, for a profile; adds what was read for it to `reads`.
pub(crate) async fn inviter_of(visit: &mut Visit, user: &User, reads: &mut Reads) -> Result<Option<String>> {
    let Some(by) = user.invited_by else { return Ok(None) };
    let names = visit.fetch(People::of([by])).await?;
    Ok(names.collect_into(by, reads).map(|names| names.username))
}

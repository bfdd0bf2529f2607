//! The buttons that vote on a story or a comment.

use super::fragments::{Fragment, Slots, placeholders, written};
use super::frame::{Frame, ITEMS_FORM};
use super::parts::deleted_user;
use crate::limits::{VOTE_LABEL_CHARACTERS, VOTE_LABEL_NAME_BYTES};
use maud::{Markup, PreEscaped, Render, html};
use std::cell::Cell;
use std::sync::OnceLock;
use tidings_domain::accounts::recent_votes::VotedOn;
use tidings_domain::news::item::Direction;
use tidings_domain::values::{CommentAddress, Rules, USERNAME_MAX, UserId, VotePrice, size};
use tidings_domain::{News, Role};
use tidings_language::t;

/// Takes the place of the buttons where voting is not possible.
pub const NO_BUTTONS: PreEscaped<&str> = PreEscaped("<span></span>");

/// The target of a pair of vote buttons.
#[derive(Debug, Clone, Copy)]
pub enum VoteTarget<'a> {
    /// A story.
    News(&'a News),
    /// A comment and the name of its author; `None` for a deactivated account.
    Comment(CommentAddress, Option<&'a str>),
}

impl VoteTarget<'_> {
    /// The key by which the record of a vote on it is found.
    const fn voted_on(&self) -> VotedOn {
        match self {
            Self::News(news) => VotedOn::News(news.id),
            Self::Comment(address, _) => VotedOn::Comment(*address),
        }
    }

    fn kind(&self, viewer: Option<UserId>) -> TargetKind {
        match self {
            Self::News(news) if viewer == Some(news.user_id) => TargetKind::OwnNews,
            Self::News(_) => TargetKind::News,
            Self::Comment(..) => TargetKind::Comment,
        }
    }

    /// Writes what the names of the buttons call it.
    fn write_label(&self, html: &mut String) {
        match self {
            Self::News(news) => match shortened(&news.title) {
                Some(beginning) => {
                    beginning.render_to(html);
                    html.push('…');
                }
                None => news.title.render_to(html),
            },
            Self::Comment(_, author) => {
                let author = match author {
                    Some(author) => author,
                    None => deleted_user(),
                };
                // Only names of older sites are as long.
                let is_long = size::escaped_bytes(author) > VOTE_LABEL_NAME_BYTES;
                let shown =
                    author.char_indices().nth(USERNAME_MAX / 2).and_then(|(end, _)| author.get(..end));
                let author = shown.filter(|_| is_long).unwrap_or(author);
                t!("comment by {author}", author).render_to(html);
            }
        }
    }

    fn write_id(&self, html: &mut String) {
        match self {
            Self::News(news) => news.id.0.render_to(html),
            Self::Comment(CommentAddress { news, comment }, _) => {
                news.0.render_to(html);
                html.push('-');
                comment.0.render_to(html);
            }
        }
    }
}

/// The beginning of a title that is too long for the name of a button.
fn shortened(title: &str) -> Option<&str> {
    if title.len() <= VOTE_LABEL_CHARACTERS {
        return None;
    }
    let (end, _) = title.char_indices().nth(VOTE_LABEL_CHARACTERS)?;
    title.get(..end)
}

/// The kind of thing that is voted on: the forms differ.
#[derive(Clone, Copy)]
enum TargetKind {
    News,
    /// The viewer's own story, on which votes are free.
    OwnNews,
    Comment,
}

impl TargetKind {
    /// Where a vote is sent, the field with the id, and what it is called in addresses.
    const fn form(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::News | Self::OwnNews => ("/votenews", "news_id", "story"),
            Self::Comment => ("/votecomment", "comment_id", "comment"),
        }
    }
}

/// How many kinds there are.
const KINDS: usize = 3;

/// The action that the viewer can take with a pair of buttons.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ButtonState {
    /// Log in first.
    LogIn,
    /// Vote.
    Open,
    /// Take back this vote.
    Voted(Direction),
    /// Nothing: this vote is final.
    Final(Direction),
}

/// How many states there are.
const STATES: usize = 6;

impl ButtonState {
    const fn index(self) -> usize {
        match self {
            Self::LogIn => 0,
            Self::Open => 1,
            Self::Voted(Direction::Up) => 2,
            Self::Voted(Direction::Down) => 3,
            Self::Final(Direction::Up) => 4,
            Self::Final(Direction::Down) => 5,
        }
    }

    fn of(frame: &Frame<'_>, target: VoteTarget<'_>, my_vote: Option<Direction>) -> Self {
        let window = frame.rules.karma.take_back_seconds;
        let can_take_back = || {
            let votes = frame.viewer.map(|viewer| &viewer.recent_votes);
            votes.is_some_and(|votes| votes.may_take_back(target.voted_on(), frame.now, window))
        };
        match (my_vote, frame.viewer) {
            (Some(vote), _) if can_take_back() => Self::Voted(vote),
            (Some(vote), _) => Self::Final(vote),
            (None, Some(_)) => Self::Open,
            (None, None) => Self::LogIn,
        }
    }

    const fn vote(self) -> Option<Direction> {
        match self {
            Self::Voted(vote) | Self::Final(vote) => Some(vote),
            Self::LogIn | Self::Open => None,
        }
    }
}

/// A pair of vote buttons as its viewer sees it, on any target.
#[derive(Clone, Copy)]
pub struct ButtonPair {
    kind: TargetKind,
    state: ButtonState,
    has_down: bool,
}

impl ButtonPair {
    /// The buttons that the viewer has for a target.
    pub fn of(frame: &Frame<'_>, target: VoteTarget<'_>, my_vote: Option<Direction>) -> Self {
        frame.note_item_button();
        let kind = target.kind(frame.viewer.map(|viewer| viewer.id));
        let state = ButtonState::of(frame, target, my_vote);
        let has_down = may_vote_down(frame, kind) || state.vote() == Some(Direction::Down);
        Self { kind, state, has_down }
    }

    /// The buttons that the viewer, if logged in, has for comments that they have neither written nor voted on.
    pub fn of_members(frame: &Frame<'_>) -> Self {
        let kind = TargetKind::Comment;
        Self { kind, state: ButtonState::Open, has_down: may_vote_down(frame, kind) }
    }

    /// A number for each combination, below [`ButtonPair::COUNT`].
    pub const fn index(self) -> usize {
        (self.kind as usize * STATES + self.state.index()) * 2 + self.has_down as usize
    }

    /// How many combinations there are.
    pub const COUNT: usize = KINDS * STATES * 2;

    /// The buttons for a target.
    pub fn on<'a>(self, frame: &'a Frame<'_>, target: VoteTarget<'a>) -> impl Render + 'a {
        let fragment = frame.brand.markup.vote_buttons.get(frame.rules, self);
        written(move |html| {
            // The first label, which the second one repeats.
            let label: Cell<Option<(usize, usize)>> = Cell::new(None);
            fragment.fill(html, |placeholder, html| match placeholder {
                VotePlaceholder::Target => target.write_id(html),
                VotePlaceholder::Label => match label.get() {
                    Some((start, end)) => html.extend_from_within(start..end),
                    None => {
                        let start = html.len();
                        target.write_label(html);
                        label.set(Some((start, html.len())));
                    }
                },
            });
        })
    }
}

/// The fragments of the vote buttons of a site. Each is made when it is first needed.
#[derive(Debug)]
pub struct VoteButtons([OnceLock<Fragment<VotePlaceholder>>; ButtonPair::COUNT]);

impl Default for VoteButtons {
    fn default() -> Self {
        Self([const { OnceLock::new() }; ButtonPair::COUNT])
    }
}

impl VoteButtons {
    fn get(&self, rules: &Rules, pair: ButtonPair) -> &Fragment<VotePlaceholder> {
        // The index is below the length: a place for each combination.
        self.0[pair.index()].get_or_init(|| Fragment::new(|slots| buttons_markup(rules, pair, slots)))
    }
}

/// The karma that a vote on a thing of a kind needs and costs.
const fn price(rules: &Rules, kind: TargetKind, button: Direction) -> VotePrice {
    let is_up = matches!(button, Direction::Up);
    match kind {
        TargetKind::News => rules.karma.story_vote(is_up),
        TargetKind::OwnNews => VotePrice { needed: 0, cost: 0, transfer: 0 },
        TargetKind::Comment => rules.karma.comment_vote(is_up),
    }
}

/// Whether the viewer has the karma to vote down.
fn may_vote_down(frame: &Frame<'_>, kind: TargetKind) -> bool {
    let needed = price(frame.rules, kind, Direction::Down).needed;
    frame.viewer.is_some_and(|viewer| {
        needed <= 0 || viewer.karma >= needed || viewer.flags.karma_source || viewer.role() >= Role::Moderator
    })
}

placeholders! {
    /// The parts that differ between vote buttons of the same kind and state.
    enum VotePlaceholder {
        /// The number of the story or the address of the comment.
        Target,
        /// The words for the target in the names of the buttons.
        Label,
    }
}

/// The buttons to vote up and, with the karma for it, down. They show the viewer's vote, and take it back while
/// that is possible. Without a session they open the login page, which leads to the question whether to vote.
pub fn vote_buttons<'a>(
    frame: &'a Frame<'_>,
    target: VoteTarget<'a>,
    my_vote: Option<Direction>,
) -> impl Render + 'a {
    ButtonPair::of(frame, target, my_vote).on(frame, target)
}

fn buttons_markup(rules: &Rules, pair: ButtonPair, slots: &Slots<'_, VotePlaceholder>) -> Markup {
    let ButtonPair { kind, state, has_down } = pair;
    let button = |direction| vote_button((kind, state), direction, price(rules, kind, direction).cost, slots);
    let can_vote = matches!(state, ButtonState::Open | ButtonState::Voted(_));
    html! {
        // The script has to know whether it may offer to take a vote back.
        div.vote data-final[can_vote && rules.karma.take_back_seconds == 0] {
            (button(Direction::Up))
            @if has_down { (button(Direction::Down)) }
        }
    }
}

/// One of the two buttons. The pressed one takes the vote back, while that is possible.
fn vote_button(
    (kind, state): (TargetKind, ButtonState),
    direction: Direction,
    cost: i64,
    slots: &Slots<'_, VotePlaceholder>,
) -> Markup {
    let label = html! { (slots.at(VotePlaceholder::Label)) };
    let (name, text) = match direction {
        Direction::Up => ("up", t!("Vote up: {thing}", thing = label)),
        Direction::Down => ("down", t!("Vote down: {thing}", thing = label)),
    };
    let text = html! { span.hidden { (text) } };
    let (action, id, thing) = kind.form();
    let target = slots.at(VotePlaceholder::Target);
    let pressed = state.vote() == Some(direction);
    let pressed_as = if pressed { "true" } else { "false" };
    let cost = (cost > 0).then_some(cost);
    match state {
        ButtonState::LogIn => html! {
            button class=(name) form=(ITEMS_FORM) name="next" value={ "/vote/" (thing) "/" (target) } { (text) }
        },
        ButtonState::Open | ButtonState::Voted(_) => {
            let takes_back = pressed.then(|| t!("Take back your vote"));
            html! {
                button class=(name) form=(ITEMS_FORM) formaction={ (action) "?" (id) "=" (target) } name="vote_type"
                    value=(if pressed { "none" } else { name }) aria-pressed=(pressed_as)
                    disabled[state.vote().is_some() && !pressed] title=[takes_back] data-cost=[cost] { (text) }
            }
        }
        ButtonState::Final(_) => html! {
            button class=(name) aria-pressed=(pressed_as) disabled { (text) }
        },
    }
}

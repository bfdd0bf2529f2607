//! The buttons that vote on a story or a comment.

use super::fragments::{Fragment, Slots, placeholders, written};
use super::frame::Frame;
use super::parts::DELETED_USER;
use crate::limits::{VOTE_LABEL_CHARACTERS, VOTE_LABEL_NAME_BYTES};
use crate::request::login_reason::LoginReason;
use maud::{Markup, PreEscaped, Render, html};
use std::cell::Cell;
use std::sync::OnceLock;
use tidings_domain::accounts::recent_votes::VotedOn;
use tidings_domain::accounts::users::Role;
use tidings_domain::news::item::{Direction, News};
use tidings_domain::values::ids::{CommentAddress, UserId};
use tidings_domain::values::limits::USERNAME_MAX;
use tidings_domain::values::rules::VotePrice;
use tidings_domain::values::size;

/// Takes the place of the buttons where voting is not possible.
pub const NO_BUTTONS: PreEscaped<&str> = PreEscaped("<span></span>");

/// What a pair of vote buttons votes on.
#[derive(Debug, Clone, Copy)]
pub enum VoteTarget<'a> {
    /// A story.
    News(&'a News),
    /// A comment and the name of its author; `None` for a deactivated account.
    Comment(CommentAddress, Option<&'a str>),
}

impl VoteTarget<'_> {
    /// What the record of a vote on it is found by.
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

    /// Writes what the names of the buttons say after "Vote up: ".
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
                let author = author.unwrap_or(DELETED_USER);
                // Only names of older sites are as long.
                let is_long = size::escaped_bytes(author) > VOTE_LABEL_NAME_BYTES;
                let shown =
                    author.char_indices().nth(USERNAME_MAX / 2).and_then(|(end, _)| author.get(..end));
                html.push_str("comment by ");
                shown.filter(|_| is_long).unwrap_or(author).render_to(html);
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

/// What kind of thing is voted on: the forms differ.
#[derive(Clone, Copy)]
enum TargetKind {
    News,
    /// The viewer's own story, on which votes are free.
    OwnNews,
    Comment,
}

/// How many kinds there are.
const KINDS: usize = 3;

/// What the viewer can do with a pair of buttons.
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

/// The fragments of the vote buttons of a site, without and with the one to vote down. Each is made
/// when it is first needed.
#[derive(Debug, Default)]
pub struct VoteButtons([[[OnceLock<Fragment<VotePlaceholder>>; STATES]; KINDS]; 2]);

impl VoteButtons {
    fn get(&self, frame: &Frame<'_>, kind: TargetKind, state: ButtonState) -> &Fragment<VotePlaceholder> {
        // The indexes are below the lengths: a place for each combination.
        let place = &self.0[usize::from(may_vote_down(frame, kind))][kind as usize][state.index()];
        place.get_or_init(|| Fragment::new(|slots| buttons_markup(frame, kind, state, slots)))
    }
}

/// What a vote on a thing of a kind needs and costs.
const fn price(frame: &Frame<'_>, kind: TargetKind, button: Direction) -> VotePrice {
    let is_up = matches!(button, Direction::Up);
    match kind {
        TargetKind::News => frame.rules.karma.story_vote(is_up),
        TargetKind::OwnNews => VotePrice { needed: 0, cost: 0, transfer: 0 },
        TargetKind::Comment => frame.rules.karma.comment_vote(is_up),
    }
}

/// Whether the viewer has the karma to vote down.
fn may_vote_down(frame: &Frame<'_>, kind: TargetKind) -> bool {
    let needed = price(frame, kind, Direction::Down).needed;
    frame.viewer.is_some_and(|viewer| {
        needed <= 0 || viewer.karma >= needed || viewer.flags.karma_source || viewer.role() >= Role::Moderator
    })
}

placeholders! {
    /// What differs between vote buttons of the same kind and state.
    enum VotePlaceholder {
        /// The number of the story or the address of the comment.
        Target,
        Anchor,
        /// What the names of the buttons say about the target.
        Label,
        /// The page to return to.
        Back,
        /// The fields of each of the viewer's forms.
        Signed,
    }
}

/// The buttons to vote up and, with the karma for it, down, within the element with the id `anchor`.
/// They show the viewer's vote, and take it back while that is possible. Without a session
/// they open the login page, which leads to the question whether to vote.
pub fn vote_buttons<'a>(
    frame: &'a Frame<'_>,
    target: VoteTarget<'a>,
    my_vote: Option<Direction>,
    anchor: impl Render + 'a,
) -> impl Render + 'a {
    let kind = target.kind(frame.viewer.map(|viewer| viewer.id));
    let state = ButtonState::of(frame, target, my_vote);
    let fragment = frame.brand.markup.vote_buttons.get(frame, kind, state);
    written(move |html| {
        // The first label, which the second one repeats.
        let label: Cell<Option<(usize, usize)>> = Cell::new(None);
        fragment.fill(html, |placeholder, html| match placeholder {
            VotePlaceholder::Target => target.write_id(html),
            VotePlaceholder::Anchor => anchor.render_to(html),
            VotePlaceholder::Label => match label.get() {
                Some((start, end)) => html.extend_from_within(start..end),
                None => {
                    let start = html.len();
                    target.write_label(html);
                    label.set(Some((start, html.len())));
                }
            },
            VotePlaceholder::Back => frame.way_back.render_to(html),
            VotePlaceholder::Signed => html.push_str(&frame.signed_fields().0),
        });
    })
}

fn buttons_markup(
    frame: &Frame<'_>,
    kind: TargetKind,
    state: ButtonState,
    slots: &Slots<'_, VotePlaceholder>,
) -> Markup {
    let label = slots.at(VotePlaceholder::Label);
    let button = |direction| vote_button(state, direction, price(frame, kind, direction).cost, &label);
    let has_down = may_vote_down(frame, kind) || state.vote() == Some(Direction::Down);
    let both = html! { (button(Direction::Up)) @if has_down { (button(Direction::Down)) } };
    let next = html! {
        input type="hidden" name="next"
            value={ (slots.at(VotePlaceholder::Back)) "#" (slots.at(VotePlaceholder::Anchor)) };
    };
    let (thing, action, api, id) = match kind {
        TargetKind::News | TargetKind::OwnNews => ("story", "/votenews", "/api/votenews", "news_id"),
        TargetKind::Comment => ("comment", "/votecomment", "/api/votecomment", "comment_id"),
    };
    html! {
        @match state {
            ButtonState::LogIn => {
                form.vote action="/login" {
                    input type="hidden" name="next" value={ "/vote/" (thing) "/" (slots.at(VotePlaceholder::Target)) };
                    input type="hidden" name="reason" value=(LoginReason::Vote.name());
                    (both)
                }
            }
            ButtonState::Open | ButtonState::Voted(_) => {
                // The script has to know whether it may offer to take a vote back.
                form.vote method="post" action=(action) data-api=(api)
                    data-final[frame.rules.karma.take_back_seconds == 0] {
                    input type="hidden" name=(id) value=(slots.at(VotePlaceholder::Target));
                    (slots.at(VotePlaceholder::Signed))
                    (next)
                    (both)
                }
            }
            ButtonState::Final(_) => { div.vote { (both) } }
        }
    }
}

/// One of the two buttons. The pressed one takes the vote back, while that is possible.
fn vote_button(state: ButtonState, direction: Direction, cost: i64, label: &dyn Render) -> Markup {
    let (name, text) = match direction {
        Direction::Up => ("up", "Vote up: "),
        Direction::Down => ("down", "Vote down: "),
    };
    let text = html! { span.hidden { (text) (label) } };
    if state == ButtonState::LogIn {
        return html! { button class=(name) { (text) } };
    }
    let pressed = state.vote() == Some(direction);
    let takes_back = pressed && state == ButtonState::Voted(direction);
    html! {
        button class=(name) name="vote_type" value=(if takes_back { "none" } else { name })
            aria-pressed=(if pressed { "true" } else { "false" })
            disabled[state.vote().is_some() && !takes_back]
            title=[takes_back.then_some("Take back your vote")] data-cost=[(cost > 0).then_some(cost)] { (text) }
    }
}

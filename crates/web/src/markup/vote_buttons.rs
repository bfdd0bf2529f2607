//! The buttons that vote on a story or a comment, and what votes cost.

use super::fragments::{Fragment, Slots, placeholders, written};
use super::frame::Frame;
use super::parts::{DELETED_USER, number};
use crate::error::sentence;
use crate::limits::{VOTE_LABEL_CHARACTERS, VOTE_LABEL_NAME_BYTES};
use crate::request::login_reason::LoginReason;
use maud::{Markup, PreEscaped, Render, html};
use std::cell::Cell;
use std::sync::OnceLock;
use tidings_domain::Refusal;
use tidings_domain::accounts::recent_votes::VotedOn;
use tidings_domain::news::item::{Direction, News};
use tidings_domain::values::ids::{CommentAddress, UserId};
use tidings_domain::values::limits::USERNAME_MAX;
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

/// The fragments of the vote buttons of a site, and what it says about prices. Each is made
/// when it is first needed.
#[derive(Debug, Default)]
pub struct VoteButtons {
    buttons: [[[OnceLock<Fragment<VotePlaceholder>>; STATES]; KINDS]; LACKS],
    prices: [OnceLock<Markup>; LACKS],
}

impl VoteButtons {
    fn get(&self, frame: &Frame<'_>, kind: TargetKind, state: ButtonState) -> &Fragment<VotePlaceholder> {
        let lacks = Lack::of(frame);
        // The indexes are below the lengths: a place for each combination.
        let place = &self.buttons[lacks.index()][kind as usize][state.index()];
        place.get_or_init(|| Fragment::new(|slots| buttons_markup(frame, kind, state, slots)))
    }
}

/// For which votes the viewer has too little karma: the tooltips say so.
struct Lack {
    up: bool,
    down: bool,
}

/// How many combinations there are.
const LACKS: usize = 4;

impl Lack {
    fn of(frame: &Frame<'_>) -> Self {
        Self { up: lacks_karma(frame, Direction::Up), down: lacks_karma(frame, Direction::Down) }
    }

    /// Whether the viewer can vote in neither direction.
    const fn is_all(&self) -> bool {
        self.up && self.down
    }

    const fn index(&self) -> usize {
        (self.up as usize) * 2 + self.down as usize
    }
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

/// The buttons to vote up and down, within the element with the id `anchor`.
/// They show the viewer's vote, and take it back while that is possible. Without a session
/// they open the login page, which then returns to the anchor.
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
    let titles = [Direction::Up, Direction::Down].map(|button| ButtonTitles::of(frame, kind, state, button));
    let both = both_buttons(state, &titles, &label);
    let next = html! {
        input type="hidden" name="next"
            value={ (slots.at(VotePlaceholder::Back)) "#" (slots.at(VotePlaceholder::Anchor)) };
    };
    let (action, api, id) = match kind {
        TargetKind::News | TargetKind::OwnNews => ("/votenews", "/api/votenews", "news_id"),
        TargetKind::Comment => ("/votecomment", "/api/votecomment", "comment_id"),
    };
    html! {
        @match state {
            ButtonState::LogIn => {
                form.vote action="/login" {
                    (next)
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

/// What the tooltip of a button says.
#[derive(Default)]
struct ButtonTitles {
    now: Option<String>,
    /// After the vote is taken back by the script.
    later: Option<String>,
}

impl ButtonTitles {
    fn of(frame: &Frame<'_>, kind: TargetKind, state: ButtonState, button: Direction) -> Self {
        let price = || match kind {
            TargetKind::News => price_of_vote(frame, button).map(|price| sentence_part(&price)),
            TargetKind::OwnNews | TargetKind::Comment => None,
        };
        match state {
            ButtonState::Open => Self { now: price(), later: None },
            ButtonState::Voted(vote) => Self {
                now: (vote == button).then(|| "Take back your vote".to_owned()),
                later: Some(price().unwrap_or_default()),
            },
            ButtonState::Final(_) | ButtonState::LogIn => Self::default(),
        }
    }
}

fn both_buttons(state: ButtonState, [up, down]: &[ButtonTitles; 2], label: &dyn Render) -> Markup {
    html! {
        (vote_button(state, Direction::Up, up, label))
        (vote_button(state, Direction::Down, down, label))
    }
}

/// One of the two buttons. The pressed one takes the vote back, while that is possible.
fn vote_button(
    state: ButtonState,
    direction: Direction,
    titles: &ButtonTitles,
    label: &dyn Render,
) -> Markup {
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
            title=[titles.now.as_ref()] data-title=[titles.later.as_ref()]
            aria-pressed=(if pressed { "true" } else { "false" })
            disabled[state.vote().is_some() && !takes_back] { (text) }
    }
}

/// A text with a capital letter and without a full stop.
fn sentence_part(text: &str) -> String {
    let text = sentence(text);
    text.strip_suffix('.').unwrap_or(&text).to_owned()
}

/// What the viewer pays for a vote on another person's story, or what it needs that the viewer
/// does not have; `None` for nothing.
fn price_of_vote(frame: &Frame<'_>, direction: Direction) -> Option<String> {
    frame.viewer?;
    let (needed, cost) = frame.rules.karma.vote_price(direction == Direction::Up);
    if lacks_karma(frame, direction) {
        Some(format!("needs {} karma", number(needed).render().into_string()))
    } else {
        (cost > 0).then(|| format!("costs {} karma", number(cost).render().into_string()))
    }
}

/// Whether the viewer has too little karma for a vote on another person's story.
fn lacks_karma(frame: &Frame<'_>, direction: Direction) -> bool {
    let (needed, _) = frame.rules.karma.vote_price(direction == Direction::Up);
    frame.viewer.is_some_and(|viewer| viewer.karma < needed && !viewer.flags.karma_source)
}

/// Says that the viewer has too little karma to vote on stories, and how to get more.
#[must_use]
pub fn karma_warning(frame: &Frame<'_>) -> Markup {
    let karma = &frame.rules.karma;
    let needed = karma.vote_price(true).0.min(karma.vote_price(false).0);
    html! {
        @if Lack::of(frame).is_all() {
            p.hint.karma-warning { (sentence(&Refusal::of_vote(needed, karma).to_string())) }
        }
    }
}

/// Says below a list of stories what votes on them cost, unless [`karma_warning`] says more.
pub fn karma_prices<'a>(frame: &'a Frame<'_>) -> Option<&'a Markup> {
    let lack = Lack::of(frame);
    if frame.viewer.is_none() || lack.is_all() {
        return None;
    }
    Some(frame.brand.markup.vote_buttons.prices[lack.index()].get_or_init(|| price_list(frame)))
}

fn price_list(frame: &Frame<'_>) -> Markup {
    let prices = [("voting up ", Direction::Up), ("voting down ", Direction::Down)]
        .map(|(what, direction)| Some(format!("{what}{}", price_of_vote(frame, direction)?)));
    let prices: Vec<String> = prices.into_iter().flatten().collect();
    html! {
        @if !prices.is_empty() { p.hint.karma-prices { (sentence(&prices.join(", "))) } }
    }
}

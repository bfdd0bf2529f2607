//! Values: what people type, what is stored, and rules that are functions of numbers.
//!
//! Input is parsed once, where it arrives; a value of one of these types is valid. No
//! module here reads the store, and none has keys of its own.
//!
//! - [`actions`]: what moderators do, and what follows from it
//! - [`announcement`]: a line above every page, and pinned stories
//! - [`clock`]: seconds and milliseconds as different types
//! - [`colour`]: colours, and the shade of one that can be read
//! - [`cursor`]: where a page of a list by time begins and ends
//! - [`day`]: days and times as they are stored
//! - [`flag`]: how readers ask moderators to look at something
//! - [`hostname`]: the name of a site, and the prefix of its hash
//! - [`html`]: the HTML of other sites as Markdown
//! - [`ids`]: the ids of users, news, tweets and comments
//! - [`identity`]: how the site presents itself
//! - [`imported`]: sources, names and votes from other sites
//! - [`limits`]: every fixed cap
//! - [`logo`]: the picture of the site
//! - [`message`]: messages between a member and the moderators
//! - [`mutes`]: what people mute, and texts searched for muted words
//! - [`network`]: the network that an address belongs to
//! - [`origin_ban`]: networks and e-mail domains that are banned
//! - [`period`]: days and months, by which the past is listed, and spans up to now
//! - [`preferences`]: what people choose on their settings page
//! - [`ranking`]: the score and rank of news
//! - [`rates`]: how often something may be done
//! - [`readers`]: the people who read the site
//! - [`rules`]: what the operator can change, with the defaults
//! - [`saved_reason`]: reasons that moderators have at hand
//! - [`secrets`]: random tokens, their comparison, and secrets masked for pages
//! - [`session_token`]: the token of a session, and its hash
//! - [`signup`]: who can sign up, invitations and applications
//! - [`single_sign_on`]: the rules for logging in through a provider
//! - [`size`]: how much room a text takes in a response
//! - [`text`]: titles, bodies, tweets, usernames, e-mail addresses, passwords
//! - [`moderation`]: what moderators act on, and the texts that go with it
//! - [`restriction`]: what a moderator has forbidden a person, and until when
//! - [`post_rule`]: what new posts are checked with
//! - `text_forms`: how values are written as short texts, and read back
//! - [`title_prefixes`]: how titles begin, and the topic of jobs
//! - [`topic`]: topics, and choices of several
//! - [`urls`]: the URL of a story, and when two are the same
//! - [`voter_id`]: who votes on sites
//! - [`withheld`]: why readers do not see what is still stored
//! - [`words`]: numbers and durations as people read them

/// Lets texts be read and shown as they are. They were checked when they were made.
macro_rules! text_values {
    ($($Name:ident),+) => {$(
        impl $Name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        $crate::values::text_forms::shown!($Name: |text| text.0);
    )+};
}

pub mod actions;
pub mod announcement;
pub mod changeable;
pub mod clock;
pub mod colour;
pub mod cursor;
pub mod day;
pub mod email;
pub mod flag;
pub mod hook;
pub mod hostname;
pub mod html;
pub mod identity;
pub mod ids;
pub mod imported;
pub mod limits;
pub mod logo;
pub mod lookalikes;
pub mod message;
pub mod moderation;
pub mod mutes;
pub mod network;
pub mod origin_ban;
pub mod period;
pub mod post_rule;
pub mod preferences;
pub mod ranking;
pub mod rates;
pub mod readers;
pub(crate) mod removed_by;
pub mod request_name;
pub mod restriction;
pub mod retries;
pub mod rules;
pub mod saved_reason;
pub mod secrets;
pub mod session_token;
pub(crate) mod signing;
pub mod signup;
pub mod single_sign_on;
pub mod site_settings;
pub mod size;
pub mod text;
pub(crate) mod text_forms;
pub mod title_prefixes;
pub mod topic;
pub mod urls;
pub mod vote_state;
pub mod voter_id;
pub mod withheld;
pub mod words;

pub use self::{
    actions::*, announcement::*, changeable::*, clock::*, colour::*, cursor::*, day::*, email::*, flag::*,
    hook::*, hostname::*, html::*, identity::*, ids::*, imported::*, limits::*, logo::*, lookalikes::*,
    message::*, moderation::*, mutes::*, network::*, origin_ban::*, period::*, post_rule::*, preferences::*,
    ranking::*, rates::*, readers::*, request_name::*, restriction::*, retries::*, rules::*, saved_reason::*,
    secrets::*, session_token::*, signup::*, single_sign_on::*, size::*, text::*, title_prefixes::*,
    topic::*, urls::*, vote_state::*, voter_id::*, withheld::*, words::*,
};
pub(crate) use self::{removed_by::*, signing::*, text_forms::*};

//! Webhooks: addresses of other servers that are told what happens on the site.

use crate::values::text_forms::{named, never_logged};
use crate::values::{MAX_HOOK_ADDRESS, MAX_HOOK_SECRET, MIN_HOOK_SECRET};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use strum::{EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};
use url::Url;

/// The kinds of events that a hook is told about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum HookKind {
    /// A story was published.
    Story,
    /// A comment was published.
    Comment,
    /// Somebody flagged something.
    Flag,
    /// Somebody signed up.
    Signup,
    /// Something has begun to wait for a moderator.
    Queue,
    /// The moderation log has another line.
    Decision,
}

named!(HookKind);

/// How a hook is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum HookFormat {
    /// All that there is to say, as JSON.
    Full,
    /// One line of text, as chats take it: `{"text": "…"}`.
    Chat,
}

named!(HookFormat);

/// Why a hook cannot be saved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub enum NotAHook {
    /// The address is not one.
    Address,
    /// No kinds.
    Kinds,
    /// A kind that does not exist.
    UnknownKind(Box<str>),
    /// The address is a private one.
    NotPublic,
    /// The secret is too short or too long.
    Secret,
}

/// The address of a hook. Anyone who knows the address of a chat can write there, so it is shown to
/// administrators only.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HookAddress(Url);

impl HookAddress {
    /// Reads what somebody has typed.
    ///
    /// # Errors
    /// [`NotAHook::Address`].
    pub fn parse(typed: &str) -> Result<Self, NotAHook> {
        let typed = typed.trim();
        let url = Url::parse(typed).map_err(|_| NotAHook::Address)?;
        let fits = typed.len() <= MAX_HOOK_ADDRESS
            && url.as_str().len() <= MAX_HOOK_ADDRESS
            && matches!(url.scheme(), "http" | "https")
            && url.host_str().is_some_and(|host| !host.is_empty())
            && url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none();
        if fits { Ok(Self(url)) } else { Err(NotAHook::Address) }
    }

    /// The address itself.
    pub const fn url(&self) -> &Url {
        &self.0
    }
}

impl TryFrom<String> for HookAddress {
    type Error = NotAHook;

    fn try_from(text: String) -> Result<Self, NotAHook> {
        Self::parse(&text)
    }
}

impl From<HookAddress> for String {
    fn from(address: HookAddress) -> Self {
        address.0.into()
    }
}

never_logged!(HookAddress);

/// The secret with which messages to a hook are signed; empty if they are not. Shown to nobody.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HookSecret(String);

impl HookSecret {
    /// Reads what somebody has typed; empty for none.
    ///
    /// # Errors
    /// [`NotAHook::Secret`].
    pub fn parse(typed: &str) -> Result<Self, NotAHook> {
        let characters = typed.chars().count();
        let fits = characters == 0 || (MIN_HOOK_SECRET..=MAX_HOOK_SECRET).contains(&characters);
        if fits { Ok(Self(typed.to_owned())) } else { Err(NotAHook::Secret) }
    }

    /// Whether nothing is signed.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The HMAC-SHA256 of a message as hexadecimal digits; `None` without a secret.
    pub fn sign(&self, message: &[u8]) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).ok()?;
        mac.update(message);
        Some(hex::encode(mac.finalize().into_bytes()))
    }
}

never_logged!(HookSecret);

/// A hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    /// Where it is.
    pub address: HookAddress,
    /// The key that signs its messages.
    pub secret: HookSecret,
    /// The events that it hears about: each kind once, in their order.
    pub kinds: Vec<HookKind>,
    /// How.
    pub format: HookFormat,
}

impl Hook {
    /// A hook from its JSON.
    pub fn from_json(json: &str) -> Option<Self> {
        let hook: Self = serde_json::from_str(json).ok()?;
        hook.check().ok().map(|()| hook)
    }

    /// The hook as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether its parts fit together.
    ///
    /// # Errors
    /// [`NotAHook::Kinds`], or [`NotAHook::Secret`] if it is missing.
    pub fn check(&self) -> Result<(), NotAHook> {
        if self.kinds.is_empty() {
            return Err(NotAHook::Kinds);
        }
        if self.secret.is_empty() && self.format == HookFormat::Full {
            return Err(NotAHook::Secret);
        }
        Ok(())
    }
}

/// The kinds in a list with commas, each once and in their order.
///
/// # Errors
/// [`NotAHook::UnknownKind`], or [`NotAHook::Kinds`] for none.
pub fn parse_kinds(list: &str) -> Result<Vec<HookKind>, NotAHook> {
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    let named: Vec<HookKind> =
        names.map(|name| name.parse().map_err(|_| unknown_kind(name))).collect::<Result<_, _>>()?;
    let kinds: Vec<HookKind> = HookKind::iter().filter(|kind| named.contains(kind)).collect();
    if kinds.is_empty() { Err(NotAHook::Kinds) } else { Ok(kinds) }
}

/// The refusal of a name, shortened, that is no kind.
fn unknown_kind(name: &str) -> NotAHook {
    const SHOWN_CHARACTERS: usize = 40;
    NotAHook::UnknownKind(name.chars().take(SHOWN_CHARACTERS).collect())
}

/// The outcome of an attempt to tell a hook something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookResult {
    /// When, in Unix seconds.
    pub time: u64,
    /// The id of the message.
    pub id: String,
    /// The status of the answer; `None` if there was none.
    pub status: Option<u16>,
    /// The outcome in words.
    pub outcome: String,
    /// How long it took, in milliseconds.
    pub milliseconds: u64,
}

impl HookResult {
    /// Whether the hook has taken the message.
    pub const fn is_success(&self) -> bool {
        matches!(self.status, Some(200..=299))
    }

    /// A result from its JSON.
    pub fn from_json(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// The result as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_that_of_rfc_4231() {
        let secret = HookSecret("Jefe".to_owned());
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(secret.sign(b"what do ya want for nothing?").unwrap(), expected);
        // Test case 6: a key longer than a block, of bytes that are no text; here one of letters.
        let long = HookSecret("a".repeat(131));
        let mut mac = <Hmac<Sha256> as hmac::KeyInit>::new_from_slice("a".repeat(131).as_bytes()).unwrap();
        mac.update(b"message");
        assert_eq!(long.sign(b"message").unwrap(), hex::encode(mac.finalize().into_bytes()));
        assert_eq!(HookSecret(String::new()).sign(b"message"), None);
    }

    #[test]
    fn addresses_are_of_the_web_and_without_passwords() {
        for good in ["https://hooks.example.com/a?b=c", "http://example.com:8080/", "http://192.0.2.1:1/x"] {
            assert_eq!(HookAddress::parse(good).unwrap().url().as_str(), good);
        }
        let long = format!("https://example.com/{}", "x".repeat(MAX_HOOK_ADDRESS));
        for bad in [
            "",
            "example.com",
            "ftp://a.com/",
            "https://u:p@a.com/",
            "https://u@a.com/",
            "https://a.com/#x",
            &long,
        ] {
            assert_eq!(HookAddress::parse(bad), Err(NotAHook::Address), "{bad}");
        }
    }

    #[test]
    fn kinds_are_a_list() {
        assert_eq!(parse_kinds("queue, story,queue").unwrap(), [HookKind::Story, HookKind::Queue]);
        assert_eq!(parse_kinds("story,other"), Err(NotAHook::UnknownKind("other".into())));
        assert_eq!(parse_kinds(" , "), Err(NotAHook::Kinds));
    }

    #[test]
    fn nothing_prints_a_secret() {
        let hook = Hook {
            address: HookAddress::parse("https://example.com/token").unwrap(),
            secret: HookSecret::parse("correct horse").unwrap(),
            kinds: vec![HookKind::Story],
            format: HookFormat::Full,
        };
        let printed = format!("{hook:?}");
        assert!(!printed.contains("horse") && !printed.contains("token"), "{printed}");
        assert_eq!(Hook::from_json(&hook.to_json()).unwrap(), hook);
        assert_eq!(HookSecret::parse("short"), Err(NotAHook::Secret));
        let unsigned = Hook { secret: HookSecret::parse("").unwrap(), ..hook };
        assert_eq!(unsigned.check(), Err(NotAHook::Secret));
        assert_eq!(Hook { format: HookFormat::Chat, ..unsigned }.check(), Ok(()));
    }
}

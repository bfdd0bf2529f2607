//! The mails that wait, as they are named in the outbox.

use crate::accounts::{EntryId, HostMove, Notice};
use crate::rates::counted::Limited;
use crate::values::{Hostname, Malformed, Timestamp, UserId, named, read_text};
use std::fmt;
use strum::{EnumString, IntoStaticStr};

/// The kinds of mails that people switch on and off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum MailKind {
    /// Entries of the inbox.
    Replies,
    /// Digests.
    Digest,
}

named!(MailKind);

/// A mail that waits to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingMail {
    /// To whom.
    pub user: UserId,
    /// The subject.
    pub subject: MailSubject,
}

/// The subject of a waiting mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MailSubject {
    /// An entry of the inbox.
    Entry(EntryId),
    /// The stories between two times.
    Digest {
        /// When the last digest was made.
        since: Timestamp,
        /// When this one became due.
        until: Timestamp,
    },
    /// A change of the account, for its owner.
    Notice {
        /// The message.
        notice: Notice,
        /// When the change was made.
        at: Timestamp,
        /// The address that is told. The account may have another one by now.
        address: String,
    },
    /// The link that confirms the e-mail address of the account.
    Confirmation {
        /// When it was asked for.
        at: Timestamp,
    },
    /// The site moves to another host, where the passkeys of the account do not work.
    HostMove {
        /// When the mail was asked for.
        at: Timestamp,
        /// From where to where.
        hosts: HostMove,
    },
}

impl WaitingMail {
    /// The kind of the mail; `None` if nobody switches it on or off.
    pub const fn kind(&self) -> Option<MailKind> {
        match self.subject {
            MailSubject::Entry(_) => Some(MailKind::Replies),
            MailSubject::Digest { .. } => Some(MailKind::Digest),
            MailSubject::Notice { .. } | MailSubject::Confirmation { .. } | MailSubject::HostMove { .. } => {
                None
            }
        }
    }

    /// How many such mails there may be to one user.
    pub(super) const fn limit(&self) -> Option<Limited> {
        match self.subject {
            MailSubject::Entry(_) => Some(Limited::MailedEntries(self.user)),
            MailSubject::Digest { .. } => None,
            MailSubject::Notice { .. } | MailSubject::HostMove { .. } => {
                Some(Limited::AccountNotices(self.user))
            }
            MailSubject::Confirmation { .. } => Some(Limited::ConfirmationMails(self.user)),
        }
    }
}

impl fmt::Display for WaitingMail {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user;
        match &self.subject {
            MailSubject::Entry(entry) => write!(formatter, "replies:{user}:{entry}"),
            MailSubject::Digest { since, until } => write!(formatter, "digest:{user}:{since}-{until}"),
            MailSubject::Notice { notice, at, address } => {
                write!(formatter, "notice:{user}:{}-{at}-{address}", notice.name())
            }
            MailSubject::Confirmation { at } => write!(formatter, "confirm:{user}:{at}"),
            MailSubject::HostMove { at, hosts: HostMove { from, to } } => {
                write!(formatter, "host_move:{user}:{at}/{from}/{to}")
            }
        }
    }
}

read_text!(WaitingMail or Malformed: |text| {
    let mut parts = text.splitn(3, ':');
    let (kind, user, about) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?);
    let time = |text: &str| text.parse().ok().map(Timestamp);
    let subject = match kind {
        "replies" => MailSubject::Entry(about.parse().ok()?),
        "digest" => {
            let (since, until) = about.split_once('-')?;
            MailSubject::Digest { since: time(since)?, until: time(until)? }
        }
        "notice" => {
            let (notice, rest) = about.split_once('-')?;
            let (at, address) = rest.split_once('-')?;
            MailSubject::Notice { notice: notice.parse().ok()?, at: time(at)?, address: address.to_owned() }
        }
        "confirm" => MailSubject::Confirmation { at: time(about)? },
        "host_move" => {
            let mut parts = about.split('/');
            let at = time(parts.next()?)?;
            let mut host = || Hostname::parse(parts.next()?).ok();
            MailSubject::HostMove { at, hosts: HostMove { from: host()?, to: host()? } }
        }
        _ => return None,
    };
    Some(Self { user, subject })
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiting_mail_is_its_name() {
        for text in [
            "replies:1:reply:3-14",
            "replies:7:mention:tweet:5",
            "digest:2:1800000000-1800086400",
            "notice:3:email_left-1800000000-a-b:c@d-e.example",
            "confirm:4:1800000000",
        ] {
            assert_eq!(text.parse::<WaitingMail>().map(|mail| mail.to_string()), Ok(text.to_owned()));
        }
        let invalid = "|replies|replies:1|replies:x:reply:1-1|digest:2:1|digest:2:a-b|x:1:follow:2|\
            notice:3:password-1800000000|notice:3:other-1800000000-a@b|confirm:4:x";
        for bad in invalid.split('|') {
            assert_eq!(bad.parse::<WaitingMail>(), Err(Malformed), "{bad}");
        }
    }
}

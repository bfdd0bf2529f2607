//! The sentences about what somebody has typed.

use super::english::{ended, escaped};
use tidings_domain::values::{
    HostnameError, HostnameFault, IdentityError, InputError, KnownName, LogoError, MAX_HOOK_SECRET,
    MAX_HOSTNAME, MAX_LOGO_BYTES, MAX_LOGO_PIXELS, MAX_PINNED, MAX_STORED_URL_BYTES, MAX_URL,
    MIN_HOOK_SECRET, NotAHook, NotBannable, PatternError, UrlError, WIDEST_IPV4, WIDEST_IPV6,
};
use tidings_language::{Phrase, n, p};
use tidings_search::language::{MAX_CHARACTERS, MAX_TERMS, TooLong};

/// The sentence about a text.
pub fn input(error: &InputError) -> Phrase<'_> {
    match error {
        InputError::Empty { field } => asked_for(field),
        InputError::TooShort { field, least } => n!(
            *least,
            "{field} is too short ({count} character at least).",
            "{field} is too short ({count} characters at least).",
            field = called(field)
        ),
        InputError::TooLong { field, most } => n!(
            *most,
            "{field} is too long ({count} character at most).",
            "{field} is too long ({count} characters at most).",
            field = called(field)
        ),
        InputError::TooManyBytes { field, most } => n!(
            *most,
            "{field} is too long ({count} byte at most).",
            "{field} is too long ({count} bytes at most).",
            field = called(field)
        ),
        InputError::Control { field, code } => p!(
            "{field} contains a control character ({code}). Remove it.",
            field = called(field),
            code = format!("U+{code:04X}")
        ),
        InputError::MixedScripts { field } => {
            p!("{field} mixes letters from different scripts. Use only one script.", field = called(field))
        }
        InputError::UsernameStart => p!("Usernames must start with a letter (a-z)."),
        InputError::UsernameCharacter => {
            p!("Usernames can contain only letters (a-z), digits, _ and -, and no spaces.")
        }
        InputError::TopicCharacter { shown, .. } => {
            p!("\"{topic}\" is not a topic. Use a-z, 0-9 and hyphens.", topic = escaped(shown))
        }
        InputError::TooManyTopics { most, .. } => {
            n!(*most, "A story can have at most {count} topic.", "A story can have at most {count} topics.")
        }
        InputError::CommonPassword => {
            p!("This password is one of the 10,000 most common, or one of them with digits after it. Choose \
             another.")
        }
        InputError::NamePassword(KnownName::Username) => {
            p!("Your password is your username, or that with digits after it. Choose another.")
        }
        InputError::NamePassword(KnownName::Site) => {
            p!("Your password is the name of this site, or that with digits after it. Choose another.")
        }
        InputError::EmailForm => p!("Enter an e-mail address such as name@example.com."),
        InputError::EmailName => p!(
            "No mail can be sent to your e-mail address: the part before the @ has at most 64 characters, \
             and dots only between others."
        ),
        InputError::EmailDomain { shown } => p!(
            "No mail can be sent to your e-mail address: \"{domain}\" is not the name of a host on the \
             internet.",
            domain = escaped(shown)
        ),
    }
}

/// The content of a field, at the beginning of a sentence. A name that is not an English word needs a row here.
fn called(field: &'static str) -> Phrase<'static> {
    match field {
        "title" => p!("Your title"),
        "text" => p!("Your text"),
        "comment" => p!("Your comment"),
        // Pages call it a post.
        "tweet" => p!("Your post"),
        "topic" | "topics" | "name" | "into" => p!("Your topic"),
        "about" => p!("Your profile text"),
        "fullname" => p!("Your full name"),
        "username" => p!("Your username"),
        "password" => p!("Your password"),
        "email" => p!("Your e-mail address"),
        "application" => p!("Your application"),
        "answer" => p!("Your answer"),
        "reason" => p!("Your reason"),
        "note" => p!("Your note"),
        "rule" => p!("Your rule"),
        "value" => p!("Your value"),
        "pattern" => p!("Your pattern"),
        "label" => p!("Your label"),
        "address" => p!("Your address"),
        "site_name" => p!("Your site name"),
        "site_about" => p!("Your about text"),
        "description" => p!("Your description"),
        "rules" => p!("Your rules"),
        "question" => p!("Your question"),
        "answers" => p!("Your answers"),
        field => p!("Your {field}", field),
    }
}

/// The request to fill in an empty field.
fn asked_for(field: &str) -> Phrase<'static> {
    match field {
        "title" => p!("Enter a title."),
        "application" => p!("Write why you would like to join."),
        "invitation" => p!("Enter your invitation. You can sign up here only if a member invites you."),
        "comment" => p!("Write a comment."),
        "tweet" => p!("Write a post."),
        "username" => p!("Enter a username."),
        "email" => p!("Enter an e-mail address."),
        "reason" => p!("Give a reason."),
        "topic" | "topics" | "name" | "into" => p!("Enter a topic."),
        "value" => p!("Enter what to mute."),
        _ => p!("Enter some text."),
    }
}

/// The sentence about a URL.
pub fn url(error: UrlError) -> Phrase<'static> {
    match error {
        UrlError::Empty => p!("Enter a URL."),
        UrlError::TooLong => n!(
            MAX_URL,
            "The URL is too long ({count} character at most).",
            "The URL is too long ({count} characters at most)."
        ),
        UrlError::TooManyBytes => n!(
            MAX_STORED_URL_BYTES,
            "The URL is too long ({count} byte at most).",
            "The URL is too long ({count} bytes at most)."
        ),
        UrlError::Credentials => p!("The URL contains a user name or password. Remove it, with the @."),
        UrlError::Backslash => {
            p!("The host in the URL contains a backslash. Enter a full address, such as https://example.com.")
        }
        UrlError::Control(code) => {
            p!("The URL contains a control character ({code}). Remove it.", code = format!("U+{code:04X}"))
        }
        UrlError::Scheme => p!("Enter a full address, such as https://example.com."),
        UrlError::NoHost => p!("The URL has no host. Enter a full address, such as https://example.com."),
        UrlError::Malformed => {
            p!("The URL is not valid. Enter a full address, such as https://example.com.")
        }
    }
}

/// The sentence about the name of a site.
pub fn hostname(error: &HostnameError) -> Phrase<'_> {
    let name = escaped(error.given());
    match error.fault() {
        HostnameFault::Empty => p!("\"{name}\" is not a site name. Enter one, such as example.com.", name),
        HostnameFault::TooLong => n!(
            MAX_HOSTNAME,
            "\"{name}\" is too long for a site name ({count} character at most).",
            "\"{name}\" is too long for a site name ({count} characters at most).",
            name
        ),
        HostnameFault::NotAHostname => p!("\"{name}\" is not a site name.", name),
        HostnameFault::SingleLabel => {
            p!("\"{name}\" is not a full site name. Enter one, such as example.com.", name)
        }
        HostnameFault::Address => {
            p!("\"{name}\" is an address. Enter a site name, such as example.com.", name)
        }
    }
}

/// The sentence about the pattern of a rule.
pub fn pattern(error: &PatternError) -> Phrase<'_> {
    match error {
        PatternError::Text(error) => input(error),
        PatternError::Domain => p!("Enter a domain such as example.com."),
        PatternError::Url => p!("Enter a host and a path, such as example.com/shop/."),
        PatternError::Regex(error) => {
            p!("The regular expression is not accepted: {error}", error = ended(error))
        }
        PatternError::TooLargeTogether => p!(
            "The regular expression is not accepted: it is too large together with the other rules. Make it \
             simpler."
        ),
        PatternError::Everything => {
            p!("The regular expression matches empty text, and so every post. Make it more specific.")
        }
    }
}

/// The sentence about a webhook.
pub fn hook(error: &NotAHook) -> Phrase<'_> {
    match error {
        NotAHook::Address => p!(
            "Enter an address that begins with http:// or https://, without a name or password before the \
             host."
        ),
        NotAHook::Kinds => p!("Choose at least one kind of event."),
        NotAHook::UnknownKind(kind) => p!(
            "There is no kind {kind}. The kinds are story, comment, flag, signup, queue and decision.",
            kind
        ),
        NotAHook::NotPublic => {
            p!("This address is not on the public internet, so the site does not write to it.")
        }
        NotAHook::Secret => p!(
            "The secret must have {least} to {most} characters. Only a chat can do without one.",
            least = MIN_HOOK_SECRET,
            most = MAX_HOOK_SECRET
        ),
    }
}

/// The sentence about an origin that cannot be banned.
pub fn origin(error: NotBannable) -> Phrase<'static> {
    match error {
        NotBannable::Network => p!("Enter an address or a network, such as 192.0.2.0/24 or 2001:db8:1::/48."),
        NotBannable::TooWide => p!(
            "A network can be at most a {ipv4} of IPv4 or a {ipv6} of IPv6.",
            ipv4 = format!("/{WIDEST_IPV4}"),
            ipv6 = format!("/{WIDEST_IPV6}")
        ),
        NotBannable::Domain => p!("Enter a domain, such as example.com."),
    }
}

/// The sentence about a part of how the site presents itself.
pub fn identity(error: &IdentityError) -> Phrase<'_> {
    match error {
        IdentityError::Text(error) => input(error),
        IdentityError::Colour => p!("Enter a colour as # and six hexadecimal digits, such as #0b6e6a."),
        IdentityError::Contact => p!("Enter an e-mail address, or the full address of a page."),
        IdentityError::NoAnswer => p!("Enter at least one right answer to the question."),
        IdentityError::Choice => p!("Choose one of these."),
        IdentityError::LinkAddress => {
            p!("Enter a full address, such as https://example.com, or a page of this site, such as /about.")
        }
        IdentityError::TooManyPinned => {
            n!(MAX_PINNED, "Pin at most {count} story.", "Pin at most {count} stories.")
        }
        IdentityError::HalfALink => p!("A link needs both a label and an address."),
    }
}

/// The sentence about a picture.
pub fn logo(error: LogoError) -> Phrase<'static> {
    match error {
        LogoError::Missing => p!("Choose a file."),
        LogoError::TooLarge => {
            p!("The file is too large ({kilobytes} KB at most).", kilobytes = MAX_LOGO_BYTES / 1024)
        }
        LogoError::Svg => {
            p!("SVG files are not accepted, because they can contain scripts. Use PNG, JPEG, WebP or GIF.")
        }
        LogoError::NotAPicture => p!("The file is not a PNG, JPEG, WebP or GIF picture."),
        // Written without groups of digits.
        LogoError::TooManyPixels => p!(
            "The picture is too large ({pixels} pixels wide and high at most).",
            pixels = MAX_LOGO_PIXELS.to_string()
        ),
    }
}

/// The sentence about a search.
pub fn search(error: TooLong) -> Phrase<'static> {
    match error {
        TooLong::Characters => n!(
            MAX_CHARACTERS,
            "A search has at most {count} character.",
            "A search has at most {count} characters."
        ),
        TooLong::Terms => {
            n!(MAX_TERMS, "A search has at most {count} term.", "A search has at most {count} terms.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_domain::values::{Hostname, NewPassword, NewsUrl, Title, Topics, Username};

    #[test]
    fn a_text_is_called_as_people_call_it() {
        for (error, sentence) in [
            (Title::parse("").unwrap_err(), "Enter a title."),
            (
                Title::parse("a\u{202E}b").unwrap_err(),
                "Your title contains a control character (U+202E). Remove it.",
            ),
            (Username::parse("a").unwrap_err(), "Your username is too short (2 characters at least)."),
            (
                NewPassword::parse(&"é".repeat(600)).unwrap_err(),
                "Your password is too long (1,024 bytes at most).",
            ),
            (Topics::parse("rust,c++").unwrap_err(), "\"c++\" is not a topic. Use a-z, 0-9 and hyphens."),
            (Topics::parse("aa,bb,cc,dd,ee,ff").unwrap_err(), "A story can have at most 5 topics."),
            (InputError::Empty { field: "tweet" }, "Write a post."),
            (
                InputError::TooLong { field: "about", most: 4_096 },
                "Your profile text is too long (4,096 characters at most).",
            ),
            (
                InputError::NamePassword(KnownName::Site),
                "Your password is the name of this site, or that with digits after it. Choose another.",
            ),
            (
                InputError::EmailDomain { shown: "example.c_".to_owned() },
                "No mail can be sent to your e-mail address: \"example.c_\" is not the name of a host on the internet.",
            ),
        ] {
            assert_eq!(input(&error).to_string(), sentence);
        }
    }

    #[test]
    fn addresses_and_names_of_sites_say_what_is_wrong() {
        let host = NewsUrl::parse("http://exa\nmple.com").unwrap_err();
        assert_eq!(url(host).to_string(), "The URL contains a control character (U+000A). Remove it.");
        assert_eq!(url(UrlError::TooLong).to_string(), "The URL is too long (2,048 characters at most).");
        for (given, sentence) in [
            ("a.com\0", "\"a.com\\0\" is not a site name."),
            ("localhost", "\"localhost\" is not a full site name. Enter one, such as example.com."),
        ] {
            assert_eq!(hostname(&Hostname::parse(given).unwrap_err()).to_string(), sentence);
        }
    }
}

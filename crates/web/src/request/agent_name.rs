//! A readable name for a `User-Agent`, as in "Firefox on Linux". Nothing depends on it: it
//! helps people to recognise their sessions.

use tidings_language::t;

/// The characters of an unknown program's name that are shown.
const SHOWN_CHARACTERS: usize = 40;

/// Browsers by what their `User-Agent` contains. Most also contain the names of others, so
/// the first match counts.
const BROWSERS: [(&str, &str); 11] = [
    ("Edg/", "Edge"),
    ("EdgA/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("MSIE ", "Internet Explorer"),
];

/// Systems, in the same way.
const SYSTEMS: [(&str, &str); 8] = [
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
    ("BSD", "BSD"),
];

/// The name of a browser and its system, or of a program.
pub fn agent_name(agent: &str) -> String {
    let first = |table: &[(&str, &'static str)]| {
        table.iter().find(|(part, _)| agent.contains(part)).map(|(_, name)| *name)
    };
    match (first(&BROWSERS), first(&SYSTEMS)) {
        (Some(browser), Some(system)) => t!("{browser} on {system}", browser, system).to_string(),
        (Some(browser), None) => browser.to_owned(),
        (None, _) => {
            let program = agent.split(['/', ' ']).next().unwrap_or_default();
            match program.chars().take(SHOWN_CHARACTERS).collect::<String>() {
                name if name.is_empty() => t!("Unknown program").to_owned(),
                name => name,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_agents() {
        let long = "x".repeat(100);
        for (agent, name) in [
            ("Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0", "Firefox on Linux"),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) \
                 Chrome/139.0.0.0 Safari/537.36 Edg/139.0.0.0",
                "Edge on Windows",
            ),
            (
                "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) \
                 Chrome/139.0.0.0 Mobile Safari/537.36",
                "Chrome on Android",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 \
                 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1",
                "Safari on iPhone",
            ),
            ("curl/8.5.0", "curl"),
            ("", "Unknown program"),
            ("/", "Unknown program"),
            (&long, &long[..SHOWN_CHARACTERS]),
        ] {
            assert_eq!(agent_name(agent), name);
        }
    }
}

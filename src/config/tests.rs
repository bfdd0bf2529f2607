//! The layers, the bounds and the errors of the settings.

use std::net::SocketAddr;
use strum::IntoEnumIterator;

use super::*;
use tidings_domain::cache::{DEFAULT_BYTES, MEBIBYTE};
use tidings_domain::values::{Choice, Economy, KarmaRules, Rate, SignupMode};

fn load(file: &str, variables: &[(&str, &str)], flags: &CommandLineSettings) -> Result<Config, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tidings.toml");
    std::fs::write(&path, file).unwrap();
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Config::load(Some(&path), variables, flags)
        .map_err(|error| error.to_string().replace(&path.display().to_string(), "FILE"))
}

fn from_file(file: &str) -> Result<Config, String> {
    load(file, &[], &CommandLineSettings::default())
}

fn from_variable(name: &str, value: &str) -> Result<Config, String> {
    load("", &[(name, value)], &CommandLineSettings::default())
}

/// The rules, without where those come from that administrators may change.
fn rules(config: &Config) -> Rules {
    Rules { configured: BTreeMap::new(), ..config.rules.clone() }
}

#[test]
fn without_any_layer_everything_has_its_default() {
    let config = Config::from_variables::<&str, &str>([]).unwrap();
    assert_eq!(rules(&config), Rules::default());
    assert_eq!(config.server.listen, "127.0.0.1:8080".parse::<SocketAddr>().unwrap());
    assert_eq!(config.server.store.as_str(), "redb:tidings.redb");
    assert_eq!(config.server.store_timeout_seconds, 2);
    assert_eq!(config.server.request_timeout_seconds, 10);
    assert_eq!(config.server.cache_mebibytes, 32);
    let transport = config.web_settings().transport;
    assert_eq!(transport, TransportSettings::default());
    assert_eq!((transport.connections_per_address, transport.answers_bytes), (64, 64 * 1024 * 1024));
    assert_eq!(transport.writes_at_once, 256);
    assert_eq!(config.server.site_cache_mebibytes * MEBIBYTE, DEFAULT_BYTES);
    assert_eq!(config.site.name, "Tidings");
    assert_eq!(config.site.url.as_str(), "http://localhost:8080/");
    assert!(!config.web_settings().site.is_https());
    assert_eq!(config.web_settings().site.link("/reset-password"), "http://localhost:8080/reset-password");
    assert_eq!(config.mail.relay, None);
    assert!(config.web.trusted_proxies.is_empty());
    assert!(!config.web.gravatars);
    assert!(config.describe().iter().all(|line| line.origin == Origin::Default));
}

#[test]
fn a_later_layer_wins() {
    let file = "[server]\nlisten = \"127.0.0.1:1\"\n[limits]\nsubmission_seconds = 1\nrepost_seconds = 1";
    let variables = [("TIDINGS_SERVER__LISTEN", "127.0.0.1:2"), ("TIDINGS_LIMITS__REPOST_SECONDS", "2")];
    let flags =
        CommandLineSettings { listen: Some("127.0.0.1:3".to_owned()), ..CommandLineSettings::default() };
    let config = load(file, &variables, &flags).unwrap();
    assert_eq!(config.server.listen.port(), 3);
    assert_eq!(config.rules.limits.repost_seconds, 2);
    assert_eq!(config.rules.limits.submission_seconds, 1);
    assert_eq!(config.rules.limits.news_edit_seconds, 900);
    let origin = |name: &str| {
        let line = config.describe().into_iter().find(|line| line.name == name);
        line.unwrap().origin.to_string().split(' ').next().unwrap().to_owned()
    };
    assert_eq!(origin("server.listen"), "flag");
    assert_eq!(origin("limits.repost_seconds"), "variable");
    assert_eq!(origin("limits.submission_seconds"), "file");
    assert_eq!(origin("limits.news_edit_seconds"), "default");
}

#[test]
fn a_wrong_value_of_a_lower_layer_does_not_matter_when_it_is_overridden() {
    let flags =
        CommandLineSettings { store: Some("redb::memory:".to_owned()), ..CommandLineSettings::default() };
    let config = load("[server]\nstore = \"sqlite:x\"", &[], &flags).unwrap();
    assert_eq!(config.server.store.as_str(), "redb::memory:");
}

#[test]
fn a_wrong_setting_names_itself_its_origin_its_value_and_what_is_expected() {
    let table = [
        (
            "[limits]\nsubmission_seconds = \"900\"",
            "limits.submission_seconds is \"900\" (file FILE), expected a whole number of seconds from 0 to 315360000",
        ),
        (
            "[limits]\nsubmission_seconds = -1",
            "limits.submission_seconds is \"-1\" (file FILE), expected a whole number of seconds from 0 to 315360000",
        ),
        (
            "[limits]\nsubmission_seconds = 1.5",
            "limits.submission_seconds is 1.5 (file FILE), expected a whole number of seconds from 0 to 315360000",
        ),
        ("[site]\nname = 5", "site.name is 5 (file FILE), expected one line of 1 to 80 characters"),
        (
            "[server]\nlisten = { port = 5 }",
            "server.listen is { port = 5 } (file FILE), expected an address with a port, like 127.0.0.1:8080 or [::1]:8080",
        ),
        (
            "[ranking]\nage_exponent = nan",
            "ranking.age_exponent is \"NaN\" (file FILE), expected a number from 0 to 10",
        ),
    ];
    for (file, expected) in table {
        assert_eq!(from_file(file).unwrap_err(), expected);
    }
    let table = [
        ("TIDINGS_SERVER__LISTEN", "8080", "an address with a port, like 127.0.0.1:8080 or [::1]:8080"),
        (
            "TIDINGS_SERVER__STORE",
            "sqlite:x",
            "redb:PATH, redb::memory:, redis://HOST, rediss://HOST or redis+sentinel://HOST,HOST,HOST/NAME",
        ),
        (
            "TIDINGS_SERVER__STORE",
            "redb:",
            "redb:PATH, redb::memory:, redis://HOST, rediss://HOST or redis+sentinel://HOST,HOST,HOST/NAME",
        ),
        ("TIDINGS_SERVER__STORE_TIMEOUT_SECONDS", "0", "a whole number of seconds from 1 to 60"),
        ("TIDINGS_SERVER__CACHE_MEBIBYTES", "9999999", "a whole number of mebibytes from 1 to 65536"),
        ("TIDINGS_SITE__NAME", "", "one line of 1 to 80 characters"),
        (
            "TIDINGS_SITE__URL",
            "ftp://example.com",
            "an http or https URL of a whole host, like https://news.example.com",
        ),
        (
            "TIDINGS_SITE__URL",
            "https://example.com/news",
            "an http or https URL of a whole host, like https://news.example.com",
        ),
        ("TIDINGS_MAIL__RELAY", "localhost", "host:port, or nothing"),
        ("TIDINGS_MAIL__RELAY", ":25", "host:port, or nothing"),
        ("TIDINGS_MAIL__RELAY", "localhost:0", "host:port, or nothing"),
        ("TIDINGS_MAIL__FROM", "", "an e-mail address, like news@example.com or News <news@example.com>"),
        (
            "TIDINGS_WEB__TRUSTED_PROXIES",
            "10.0.0.0/33",
            "comma-separated addresses or networks, like 127.0.0.1, 10.0.0.0/8",
        ),
        (
            "TIDINGS_WEB__TRUSTED_PROXIES",
            "10.0.0.1,,",
            "comma-separated addresses or networks, like 127.0.0.1, 10.0.0.0/8",
        ),
        ("TIDINGS_WEB__GRAVATARS", "yes", "true or false"),
        (
            "TIDINGS_RATES__COMMENT_PER_ACCOUNT",
            "10/m",
            "a count and a duration up to 30d, like 10/10m or 200/4s, or 0 for no limit",
        ),
        ("TIDINGS_RATES__STREAMS_PER_ACCOUNT", "5/1s", "a whole number of streams from 0 to 1000000"),
        ("TIDINGS_RATES__NEW_ACCOUNT_SHARE", "1.5", "a number from 0 to 1"),
        (
            "TIDINGS_RATES__EXEMPT",
            "10.0.0.0/33",
            "comma-separated addresses or networks, like 127.0.0.1, 10.0.0.0/8",
        ),
        ("TIDINGS_KARMA__UPVOTE_COST", "-1", "a whole number from 0 to 1000000000"),
        ("TIDINGS_RANKING__SCALE", "inf", "a number from 0.001 to 1000000000000"),
    ];
    for (variable, value, expected) in table {
        let error = from_variable(variable, value).unwrap_err();
        let name = variable.trim_start_matches("TIDINGS_").to_lowercase().replace("__", ".");
        assert_eq!(error, format!("{name} is \"{value}\" (variable {variable}), expected {expected}"));
    }
}

#[test]
fn secrets_are_in_no_error_and_no_debug_form() {
    let error = from_variable("TIDINGS_MAIL__PASSWORD", "sword\nfish").unwrap_err();
    assert!(error.contains("mail.password is \"***\"") && !error.contains("fish"), "{error}");
    let error = from_file("[mail]\npassword = 1234567").unwrap_err();
    assert!(!error.contains("1234567"), "{error}");
    let error = from_variable("TIDINGS_SERVER__STORE", "valkey://me:hunter2@host").unwrap_err();
    assert!(error.contains("\"valkey://***@host\"") && !error.contains("hunter2"), "{error}");
    let variables = [
        ("TIDINGS_MAIL__PASSWORD", "swordfish"),
        ("TIDINGS_ACCOUNTS__LEGACY_SALT", "pepper"),
        ("TIDINGS_SERVER__STORE", "redis://me:hunter2@host"),
    ];
    let config = load("", &variables, &CommandLineSettings::default()).unwrap();
    assert_eq!(config.mail.password.reveal(), "swordfish");
    assert_eq!(config.rules.accounts.legacy_salt, "pepper");
    assert_eq!(config.server.store.as_str(), "redis://me:hunter2@host");
    let shown = format!("{config:?} {:?} {:?}", config.mail, config.server);
    for secret in ["swordfish", "pepper", "hunter2"] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}

#[test]
fn a_store_behind_sentinels_is_named_whole_and_without_its_passwords() {
    let url = "redis+sentinel://me:hunter2@a:1,b,c/news?sentinel_password=swordfish";
    let config = load("", &[("TIDINGS_SERVER__STORE", url)], &CommandLineSettings::default()).unwrap();
    assert_eq!(config.server.store.as_str(), url);
    let shown = format!("{:?}", config.server);
    assert!(!shown.contains("hunter2") && !shown.contains("swordfish"), "{shown}");
    for wrong in ["a:1,b,c", "a:x/news", "a:1,,c/news", "a:1/news/first", "a/news?password=swordfish"] {
        let url = format!("redis+sentinel://{wrong}");
        let error = from_variable("TIDINGS_SERVER__STORE", &url).unwrap_err();
        assert!(error.contains("or redis+sentinel://HOST,HOST,HOST/NAME"), "{error}");
    }
    let url = "redis+sentinel://a?sentinel_password=swordfish";
    let error = from_variable("TIDINGS_SERVER__STORE", url).unwrap_err();
    assert!(!error.contains("swordfish"), "{error}");
}

#[test]
fn an_unknown_setting_names_the_nearest_known_one() {
    let table = [
        (
            "[limits]\nsubmision_seconds = 1",
            "unknown setting limits.submision_seconds (file FILE); did you mean limits.submission_seconds?",
        ),
        (
            "[limit]\nsubmission_seconds = 1",
            "unknown setting limit (file FILE); did you mean section [limits]?",
        ),
        ("[mails]", "unknown setting mails (file FILE); did you mean section [mail]?"),
        ("name = 'x'", "unknown setting name (file FILE); did you mean name in [site] or name in [oidc]?"),
        (
            "folder = 'x'",
            "unknown setting folder (file FILE); did you mean folder in [backup] or folder in [search]?",
        ),
        (
            "trusted_proxy = '::1'",
            "unknown setting trusted_proxy (file FILE); did you mean trusted_proxies in [web]?",
        ),
        ("karma = 5", "unknown setting karma (file FILE); did you mean section [karma]?"),
        (
            "[server.listen]\nport = 1",
            "server.listen is { port = 1 } (file FILE), expected an address with a port, like 127.0.0.1:8080 or [::1]:8080",
        ),
    ];
    for (file, expected) in table {
        assert_eq!(from_file(file).unwrap_err(), expected);
    }
    for variable in ["TIDINGS_SITE_NAME", "TIDINGS_SITE__NAM", "TIDINGS_site__name"] {
        let error = from_variable(variable, "x").unwrap_err();
        assert!(error.starts_with(&format!("unknown setting {variable} (variable {variable})")), "{error}");
    }
    let error = from_variable("TIDINGS_SITE_NAME", "x").unwrap_err();
    assert!(error.ends_with("did you mean TIDINGS_SITE__NAME?"), "{error}");
}

#[test]
fn the_log_filter_and_the_variables_of_others_are_left_alone() {
    let variables = [("TIDINGS_LOG", "debug"), ("HOME", "/root"), ("TIDING_SITE__NAME", "x")];
    assert!(load("", &variables, &CommandLineSettings::default()).is_ok());
}

#[test]
fn a_file_that_is_absent_or_not_toml_is_named() {
    let missing =
        Config::load(Some(Path::new("/no/such.toml")), [].into_iter(), &CommandLineSettings::default());
    let error = missing.unwrap_err().to_string();
    assert!(error.starts_with("cannot read the configuration file /no/such.toml: "), "{error}");
    let error = from_file("[site]\nname = \"a\"\nurl = what\n").unwrap_err();
    assert!(error.starts_with("FILE, line 3: "), "{error}");
    let error = from_file("[site]\nname = \"a\"\nname = \"b\"\n").unwrap_err();
    assert!(error.starts_with("FILE, line 3: "), "{error}");
}

#[test]
fn values_are_read_into_their_types() {
    let file = r#"
        [server]
        listen = "[::1]:80"
        store = "rediss://cache.example.com:6380/2"
        hosts = "Example.org ,b\u00fccher.example"
        [site]
        url = "https://News.Example.com"
        [mail]
        relay = "[::1]:2525"
        from = "News <news@example.com>"
        [web]
        trusted_proxies = "127.0.0.1, 10.0.0.0/8,::1 ,::ffff:192.0.2.1"
        gravatars = true
        [ranking]
        age_exponent = 2
        [karma]
        initial = -5
    "#;
    let config = from_file(file).unwrap();
    assert_eq!(config.server.listen.port(), 80);
    assert_eq!(config.web_settings().transport.hosts, ["example.org", "xn--bcher-kva.example"]);
    assert!(config.web_settings().site.is_https());
    assert_eq!(config.web_settings().site.link("/"), "https://news.example.com/");
    assert_eq!(config.mail.relay, Some(Relay { host: "::1".to_owned(), port: 2525 }));
    assert_eq!(config.mail.from.email.to_string(), "news@example.com");
    let networks: Vec<String> = config.web.trusted_proxies.iter().map(ToString::to_string).collect();
    assert_eq!(networks, ["127.0.0.1/32", "10.0.0.0/8", "::1/128", "192.0.2.1/32"]);
    assert!(config.web.gravatars);
    assert_eq!(config.rules.karma.initial, -5);
    assert!((config.rules.ranking.age_exponent - 2.0).abs() < f64::EPSILON);
}

#[test]
fn rates_are_read_into_their_types() {
    let file = r#"
        [rates]
        comment_per_account = "5/1h"
        tweet_per_account = "0"
        read_per_address = 0
        streams_per_account = 2
        new_account_share = 0.5
        exempt = "10.0.0.0/8, ::1"
        [limits]
        mentions_per_day = 3
    "#;
    let rules = from_file(file).unwrap().rules;
    assert_eq!(rules.rates.comment_per_account, Rate::new(5, 3_600));
    assert!(rules.rates.tweet_per_account.is_off() && rules.rates.read_per_address.is_off());
    assert_eq!(rules.rates.large_per_address, Rate::new(60, 3));
    assert_eq!(rules.rates.streams_per_account, 2);
    assert!((rules.rates.new_account_share - 0.5).abs() < f64::EPSILON);
    assert_eq!(rules.rates.exempt.to_string(), "10.0.0.0/8, ::1/128");
    assert_eq!(rules.limits.mentions_per_day, 3);
    let error = from_file("[rates]\nread_per_address = 10").unwrap_err();
    assert!(error.starts_with("rates.read_per_address is 10 (file FILE), expected a count"), "{error}");
}

#[test]
fn the_rates_have_the_documented_defaults() {
    let config = Config::from_variables::<&str, &str>([]).unwrap();
    let lines = config.describe();
    let rates = lines.iter().filter(|line| line.name.starts_with("rates."));
    let rates: Vec<(&str, &str)> = rates.map(|line| (line.name, line.value.as_str())).collect();
    let expected = [
        ("rates.comment_per_account", "\"10/10m\""),
        ("rates.comment_per_address", "\"60/10m\""),
        ("rates.tweet_per_account", "\"30/10m\""),
        ("rates.tweet_per_address", "\"120/10m\""),
        ("rates.vote_per_account", "\"120/1m\""),
        ("rates.vote_per_address", "\"600/1m\""),
        ("rates.follow_per_account", "\"60/10m\""),
        ("rates.follow_per_address", "\"240/10m\""),
        ("rates.flag_per_account", "\"120/10m\""),
        ("rates.flag_per_address", "\"600/10m\""),
        ("rates.fetch_title_per_account", "\"1/10s\""),
        ("rates.fetch_title_per_address", "\"30/1m\""),
        ("rates.search_per_account", "\"60/1m\""),
        ("rates.search_per_address", "\"120/1m\""),
        ("rates.read_per_address", "\"200/4s\""),
        ("rates.large_per_address", "\"60/3s\""),
        ("rates.failed_login_per_address", "\"30/10m\""),
        ("rates.reset_per_address", "\"10/1h\""),
        ("rates.streams_per_account", "5"),
        ("rates.streams_per_address", "20"),
        ("rates.new_account_share", "0.5"),
        ("rates.exempt", "\"\""),
    ];
    assert_eq!(rates, expected);
    assert_eq!(config.rules.limits.mentions_per_day, 100);
}

#[test]
fn a_setting_that_is_gone_names_its_successor() {
    let layers = Layers::defaults();
    let error = layers.unknown("limits.failed_logins_per_minute", &Origin::Default);
    assert_eq!(
        error.to_string(),
        "the setting limits.failed_logins_per_minute (default) is gone; use rates.failed_login_per_address"
    );
    for (_, successor) in REPLACED {
        assert!(layers.settings.iter().any(|setting| setting.name == successor), "{successor}");
    }
}

#[test]
fn every_default_is_accepted_by_its_own_variable() {
    let config = Config::from_variables::<&str, &str>([]).unwrap();
    for setting in settings::table(&Rules::default()) {
        let again = from_variable(&variable_of(setting.name), &setting.default).unwrap();
        assert_eq!(rules(&again), rules(&config), "{}", setting.name);
        assert_eq!(again.server, config.server, "{}", setting.name);
    }
}

#[test]
fn every_setting_has_its_own_name_and_a_sentence() {
    let table = settings::table(&Rules::default());
    let names: BTreeSet<_> = table.iter().map(|setting| setting.name).collect();
    assert_eq!(names.len(), table.len());
    for setting in table {
        assert!(setting.meaning.ends_with('.') && !setting.meaning.contains('\n'), "{}", setting.name);
    }
}

#[test]
fn who_signs_up_is_one_of_four_modes() {
    for mode in SignupMode::iter() {
        let config = from_variable("TIDINGS_ACCOUNTS__SIGNUP", mode.name()).unwrap();
        assert_eq!(config.rules.accounts.signup, mode);
    }
    let error = from_variable("TIDINGS_ACCOUNTS__SIGNUP", "nobody").unwrap_err();
    assert!(error.ends_with("expected open, invite, apply or closed"), "{error}");
}

#[test]
fn a_question_at_sign_up_needs_answers_and_a_list_may_be_an_array() {
    let error = from_file("[accounts]\nsignup_question = \"Why?\"").unwrap_err();
    let expected =
        "accounts.signup_question is Why? (file FILE), expected empty without accounts.signup_answers";
    assert_eq!(error, expected);
    let with =
        |answers| from_file(&format!("[accounts]\nsignup_question = \"Why?\"\nsignup_answers = {answers}"));
    let array = with("[\"because\", \"for fun\"]").unwrap();
    assert_eq!(rules(&array), rules(&with("\"because, for fun\"").unwrap()));
    assert!(with("[\"because, for fun\"]").is_err() && with("[1]").is_err());
}

#[test]
fn a_contact_is_an_address_of_mail_or_of_a_page() {
    for contact in ["", "desk@example.org", "https://example.org/contact"] {
        assert!(from_variable("TIDINGS_SITE__CONTACT", contact).is_ok(), "{contact}");
    }
    for contact in ["desk", "javascript:alert(1)", "example.org/contact"] {
        let error = from_variable("TIDINGS_SITE__CONTACT", contact).unwrap_err();
        assert!(
            error.ends_with("expected an e-mail address, or an http or https URL, or nothing"),
            "{error}"
        );
    }
}

#[test]
fn addresses_cannot_be_confirmed_without_mail() {
    let error = from_file("[accounts]\nconfirm_email = true").unwrap_err();
    assert_eq!(error, "accounts.confirm_email is true (file FILE), expected false without mail.relay");
    let config = from_file("[accounts]\nconfirm_email = true\n[mail]\nrelay = \"localhost:25\"").unwrap();
    assert!(config.rules.accounts.confirm_email);
}

#[test]
fn a_store_that_was_named_is_created_on_request_alone() {
    let named = [("TIDINGS_SERVER__STORE", "redb:tidings.redb")];
    let both = [named[0], ("TIDINGS_SERVER__CREATE", "true")];
    let creates = |file, variables, create| {
        let flags = CommandLineSettings { create, ..CommandLineSettings::default() };
        load(file, variables, &flags).unwrap().creates_store()
    };
    assert!(creates("", &[], false));
    assert!(!creates("", &named, false));
    assert!(!creates("[server]\nstore = \"redb:x\"", &[], false));
    assert!(creates("", &named, true));
    assert!(creates("", &both, false));
    let flags =
        CommandLineSettings { store: Some("redb:tidings.redb".to_owned()), ..CommandLineSettings::default() };
    assert!(!load("", &[], &flags).unwrap().creates_store());
}

/// Where the prices of votes come from: the economy, two numbers and the origin of the first.
fn prices(variables: &[(&str, &str)], stored: Option<Economy>) -> (Economy, i64, i64, String) {
    let config = Config::from_variables(variables.iter().copied()).unwrap();
    let config = config.with_stored_economy(stored);
    let KarmaRules { economy, upvote_cost, comment_downvote_cost, .. } = config.rules.karma;
    let line = config.describe().into_iter().find(|line| line.name == "karma.upvote_cost").unwrap();
    assert_eq!(line.value, upvote_cost.to_string());
    (economy, upvote_cost, comment_downvote_cost, line.origin.to_string())
}

#[test]
fn a_number_goes_before_the_economy_of_the_settings_and_that_before_the_store() {
    const ECONOMY: &str = "TIDINGS_KARMA__ECONOMY";
    const COST: &str = "TIDINGS_KARMA__UPVOTE_COST";
    use Economy::{Free, Lamer, LamerOfStore};
    let default = || "default".to_owned();
    let of_economy = || "default of karma.economy".to_owned();
    let variable = || format!("variable {COST}");
    assert_eq!(prices(&[], None), (Free, 0, 1, default()));
    assert_eq!(prices(&[], Some(Lamer)), (LamerOfStore, 1, 0, of_economy()));
    assert_eq!(prices(&[], Some(Free)), (Free, 0, 1, default()));
    assert_eq!(prices(&[(ECONOMY, "free")], Some(Lamer)), (Free, 0, 1, default()));
    assert_eq!(prices(&[(ECONOMY, "lamer")], None), (Lamer, 1, 0, of_economy()));
    assert_eq!(prices(&[(ECONOMY, "lamer")], Some(Free)), (Lamer, 1, 0, of_economy()));
    assert_eq!(prices(&[(COST, "3"), (ECONOMY, "lamer")], None), (Lamer, 3, 0, variable()));
    assert_eq!(prices(&[(COST, "0")], Some(Lamer)), (LamerOfStore, 0, 0, variable()));
}

#[test]
fn settings_that_trust_everybody_or_have_no_effect_are_warned_of() {
    let warned = |text: &str| from_file(text).unwrap().warnings();
    for everybody in ["0.0.0.0/0", "127.0.0.1, ::/0"] {
        let warnings = warned(&format!("[web]\ntrusted_proxies = '{everybody}'"));
        assert!(matches!(&warnings[..], [one] if one.contains("name only the addresses")), "{warnings:?}");
    }
    let warnings = warned("[mail]\nusername = 'me'");
    assert!(matches!(&warnings[..], [one] if one.contains("set mail.relay")), "{warnings:?}");
    assert!(
        warned(
            "[mail]\nusername = 'me'\nrelay = 'smtp.example.org:587'\n[web]\ntrusted_proxies = '10.0.0.0/8'"
        )
        .is_empty()
    );
}

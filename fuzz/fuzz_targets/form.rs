//! Any bytes as a form: it is read or refused. A form that is read has each field
//! once, with a plain name.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tidings_web::request::form::Fields;

fuzz_target!(|encoded: &[u8]| {
    let Ok(fields) = Fields::parse(encoded) else {
        return;
    };
    // An independent reader, lossy where ours is strict, must agree.
    let pairs: Vec<(String, String)> = url::form_urlencoded::parse(encoded).into_owned().collect();
    for (position, (name, value)) in pairs.iter().enumerate() {
        assert!(!name.contains(['[', ']']), "an array was accepted: {name:?}");
        assert!(
            pairs[..position].iter().all(|(earlier, _)| earlier != name),
            "a repeated field was accepted: {name:?}"
        );
        assert_eq!(fields.get(name), Some(value.as_str()), "the field {name:?}");
        assert_eq!(fields.text(name), value);
    }
    assert!(pairs.len() <= 32, "{} fields were accepted", pairs.len());
    // Values may be passwords.
    let mut names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(format!("{fields:?}"), format!("{names:?}"));
    names.push("absent from the form");
    assert_eq!(
        fields.get("absent from the form").is_some(),
        names[..names.len() - 1].contains(&"absent from the form")
    );
});

//! Texts: titles, comments, names. English enough to be of the usual length
//! and to compress as texts do.

use std::sync::LazyLock;

use super::random::Random;

static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "about after again against algorithm always another answer apart archive around balance because \
     before behind better between book bridge build cache careful change chapter city clear clock \
     code color common compiler could country critical database decade design detail different \
     distance early earth editor effort engine enough every example experiment faster field figure \
     first follow forest format found free friend function garden general great ground group harbor \
     hardware history house however idea important index inside interest island journal keyboard \
     kind language large later learn letter level library light little local machine maker market \
     matter meaning measure memory minute model moment morning mountain music nature network never \
     night notes number ocean often older open order other outside paper parser people perhaps \
     picture place plain planet point possible power practice problem program protocol public \
     question quiet reader reason record release report result river rocket school science second \
     secret server shape simple since slower small software sound source space state station still \
     story street strong summer surface system table teacher thing think thread through today \
     together tomorrow tool toward travel under until useful value village voice water weather where \
     while window winter without wonder world writer"
        .split(' ')
        .collect()
});

static SMALL_WORDS: LazyLock<Vec<&str>> =
    LazyLock::new(|| "a the of to in and is it for on with as that was at by not be".split(' ').collect());

fn word(random: &mut Random) -> &'static str {
    let list = if random.chance(45) { &SMALL_WORDS } else { &WORDS };
    list[random.below(list.len() as u64) as usize]
}

/// A long word.
pub fn noun(random: &mut Random) -> &'static str {
    WORDS[random.below(WORDS.len() as u64) as usize]
}

/// A title of 30 to 80 characters.
pub fn title(random: &mut Random) -> String {
    let length = 30 + random.below(51) as usize;
    let mut title = capitalised(noun(random));
    while title.len() < length {
        title.push(' ');
        title.push_str(word(random));
    }
    cut(title, length)
}

/// A text of about so many characters, at most 20 less; every seventh has a URL.
pub fn body(random: &mut Random, length: u64) -> String {
    let length = length as usize;
    let mut body = String::with_capacity(length + 16);
    let mut begins = true;
    if random.chance(14) && length > 100 {
        body = format!(
            "See https://{}.example.org/{}/{} first. ",
            noun(random),
            noun(random),
            random.below(9_999)
        );
    }
    while body.len() < length {
        let next = word(random);
        if begins {
            body.push_str(&capitalised(next));
        } else {
            body.push_str(next);
        }
        begins = random.chance(8);
        body.push_str(if !begins {
            " "
        } else if random.chance(15) {
            ".\n\n"
        } else {
            ". "
        });
    }
    cut(body, length)
}

fn capitalised(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}

/// The beginning of an ASCII text, with a full last word or a part of one, but no blank at the end.
fn cut(mut text: String, length: usize) -> String {
    text.truncate(length);
    text.truncate(text.trim_end().len());
    while text.len() < length {
        text.push('s');
    }
    text
}

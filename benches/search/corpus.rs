//! Texts whose words are as frequent as in a language: the one at place n of all words has a share of 1/n.

use tidings_testing::dataset::random::Random;

const STORIES: u64 = 20_000;
const COMMENTS: u64 = 150_000;
/// Different words.
const WORDS: usize = 40_000;
/// Stories with a text, of 100.
const TEXTS: u64 = 20;
const SYLLABLES: [&str; 40] = [
    "ba", "be", "bo", "ca", "co", "da", "de", "di", "do", "el", "en", "er", "fa", "fi", "ga", "go", "in",
    "ka", "la", "le", "li", "lo", "ma", "me", "mi", "na", "ne", "no", "pa", "po", "ra", "re", "ri", "sa",
    "se", "so", "ta", "te", "ti", "to",
];
/// Two years.
const OLDEST: u64 = 2 * 365 * 86_400;

pub struct Story {
    pub id: u64,
    pub title: String,
    pub url: String,
    pub votes: u64,
    /// In seconds.
    pub age: u64,
    pub comments: Vec<String>,
}

impl Story {
    pub fn text(&self) -> &str {
        self.url.strip_prefix("text://").unwrap_or_default()
    }
}

pub struct Corpus {
    pub stories: Vec<Story>,
}

/// A search.
pub struct Query {
    /// In our language.
    pub typed: String,
    pub is_for_comments: bool,
    /// In that of SQLite.
    matched: String,
}

impl Query {
    /// A line for the program that asks SQLite.
    pub fn for_sqlite(&self) -> String {
        format!("{}\t{}", if self.is_for_comments { "comment" } else { "story" }, self.matched)
    }
}

impl Corpus {
    pub fn generate() -> Self {
        let words = words();
        let mut stories: Vec<Story> = (1..=STORIES).map(|id| story(id, &words)).collect();
        let mut random = Random::of("comments", 0);
        for number in 0..COMMENTS {
            let mut own = Random::of("comment", number);
            // Few stories have most of the comments.
            let story = random.skewed(STORIES, 2.0) as usize;
            let length = 4 + own.skewed(240, 2.5);
            let body = sentence(&mut own, &words, length);
            stories[story].comments.push(body);
        }
        Self { stories }
    }

    pub fn documents(&self) -> usize {
        self.stories.iter().map(|story| 1 + story.comments.len()).sum()
    }

    pub fn bytes(&self) -> u64 {
        let of_story = |story: &Story| {
            story.title.len() + story.url.len() + story.comments.iter().map(String::len).sum::<usize>()
        };
        self.stories.iter().map(of_story).sum::<usize>() as u64
    }

    /// Searches as people make them: mostly for some words of a title that they remember, a quarter of them in vain.
    pub fn queries(&self) -> Vec<Query> {
        let words = words();
        (0..1_000).map(|number| self.query(number, &words)).collect()
    }

    fn query(&self, number: u64, words: &[String]) -> Query {
        let mut random = Random::of("query", number);
        let title = &self.stories[random.below(STORIES) as usize].title;
        let of_title: Vec<&str> = title.split(' ').collect();
        let start = random.below(of_title.len() as u64 - 2) as usize;
        let [one, two] = [of_title[start], of_title[start + 1]];
        let any = word(&mut random, words);
        let quoted = |first: &str, second: &str| format!("\"{first} {second}\"");
        let beginning = format!("{}*", &one[..one.len().min(4)]);
        // Nobody writes a word with these letters.
        let misspelled = format!("{}x{}", &one[..1], &one[1..]);
        let (typed, matched) = match random.below(100) {
            0..22 => (one.to_owned(), one.to_owned()),
            22..44 => (format!("{one} {two}"), format!("{one} AND {two}")),
            44..52 => (quoted(one, two), quoted(one, two)),
            52..57 => (format!("{one} {two} {any}"), format!("{one} AND {two} AND {any}")),
            57..61 => (format!("{one} OR {any}"), format!("{one} OR {any}")),
            61..65 => (format!("{one} -{any}"), format!("{one} NOT {any}")),
            65..70 => (beginning.clone(), beginning),
            70..74 => (format!("{one} votes:>5 age:<1y"), one.to_owned()),
            // These find nothing, or little.
            74..80 => (misspelled.clone(), misspelled),
            80..85 => (format!("{one} {misspelled}"), format!("{one} AND {misspelled}")),
            85..90 => (quoted(two, one), quoted(two, one)),
            90..94 => (
                format!("{one} {two} {any} {misspelled}"),
                format!("{one} AND {two} AND {any} AND {misspelled}"),
            ),
            94..97 => (format!("{one} site:{any}.example"), format!("{one} AND {any}")),
            _ => (format!("{one} by:nobody"), format!("{one} AND {misspelled}")),
        };
        Query { typed, is_for_comments: random.chance(25), matched }
    }
}

fn words() -> Vec<String> {
    let make = |number| {
        let mut random = Random::of("word", number);
        // Frequent words are short.
        let syllables = 2 + (number as f64).log10() as u64 / 2 + random.below(2);
        (0..syllables).map(|_| SYLLABLES[random.below(SYLLABLES.len() as u64) as usize]).collect()
    };
    (1..=WORDS as u64).map(make).collect()
}

fn word<'w>(random: &mut Random, words: &'w [String]) -> &'w str {
    let place = (random.unit() * (WORDS as f64).ln()).exp() as usize;
    &words[place.min(WORDS) - 1]
}

fn sentence(random: &mut Random, words: &[String], length: u64) -> String {
    (0..length).map(|_| word(random, words)).collect::<Vec<_>>().join(" ")
}

fn story(id: u64, words: &[String]) -> Story {
    let mut random = Random::of("story", id);
    let length = 4 + random.below(8);
    let title = sentence(&mut random, words, length);
    let url = if random.chance(TEXTS) {
        let length = 20 + random.below(230);
        format!("text://{}", sentence(&mut random, words, length))
    } else {
        format!("https://{}.example/{}", word(&mut random, words), title.replace(' ', "-"))
    };
    let (votes, age) = (1 + random.skewed(300, 4.0), random.below(OLDEST));
    Story { id, title, url, votes, age, comments: Vec::new() }
}

//! Avatars: a generated drawing, or the user's picture at Gravatar.

use crate::limits::GRAVATAR_PIXELS;
use std::fmt::Write;

use sha2::{Digest, Sha256};

/// Colours with enough contrast (3:1) on white and on near-black alike.
const COLOURS: [&str; 12] = [
    "#d9534f", "#c7652b", "#a67c1e", "#7c8a23", "#4a9440", "#2b9470", "#25909c", "#3a87c8", "#5f7fd9",
    "#8a70d6", "#b062c4", "#cc5a93",
];
const ROWS: usize = 5;
/// The left half and the middle; the right half is the left one mirrored.
const DRAWN_COLUMNS: usize = 3;

/// A drawing of five by five squares, symmetric, the same for the same seed,
/// as an SVG of `size` pixels. Only the digest of the seed is used, so the SVG is safe for any
/// seed. It is hidden from screen readers, because the name is next to it.
pub fn identicon(seed: &str, size: u32) -> String {
    let digest = Sha256::digest(seed.as_bytes());
    let colour = COLOURS[usize::from(digest[0]) % COLOURS.len()];
    let squares = squares(&digest[1..]);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{size}\" height=\"{size}\" viewBox=\"-1 -1 7 7\" \
         fill=\"{colour}\" aria-hidden=\"true\">\
         <rect x=\"-1\" y=\"-1\" width=\"7\" height=\"7\" rx=\"1\" fill-opacity=\".16\"/>\
         <path d=\"{squares}\"/></svg>"
    )
}

/// The address of the picture for an e-mail address at gravatar.com, `size` pixels wide.
/// Without a picture, Gravatar returns a generated one.
pub fn gravatar_url(email: &str, size: u32) -> String {
    let digest = hex::encode(Sha256::digest(email.trim().to_lowercase().as_bytes()));
    let size = size.clamp(1, GRAVATAR_PIXELS);
    format!("https://www.gravatar.com/avatar/{digest}?s={size}&d=identicon")
}

/// The path of the filled squares, from the first 15 bits of the digest that do not make
/// the drawing nearly empty or full.
fn squares(digest: &[u8]) -> String {
    let masks = digest.windows(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]) & 0x7fff);
    let mask = masks.clone().find(|mask| (5..=11).contains(&mask.count_ones())).unwrap_or(0x2d6b);
    let mut path = String::new();
    for row in 0..ROWS {
        for column in 0..DRAWN_COLUMNS {
            if mask >> (row * DRAWN_COLUMNS + column) & 1 == 0 {
                continue;
            }
            push_square(&mut path, column, row);
            let mirrored = ROWS - 1 - column;
            if mirrored != column {
                push_square(&mut path, mirrored, row);
            }
        }
    }
    path
}

fn push_square(path: &mut String, column: usize, row: usize) {
    // Writing to a String cannot fail.
    let _ = write!(path, "M{column} {row}h1v1h-1z");
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_drawing_depends_only_on_the_seed() {
        assert_eq!(identicon("antirez", 32), identicon("antirez", 32));
        let drawings: HashSet<String> =
            (0..500).map(|number| identicon(&format!("user{number}"), 32)).collect();
        assert!(drawings.len() > 480, "only {} of 500 differ", drawings.len());
    }

    #[test]
    fn the_drawing_is_symmetric_and_neither_empty_nor_full() {
        for number in 0..500 {
            let svg = identicon(&number.to_string(), 32);
            let path = svg.split("<path d=\"").nth(1).unwrap().split('"').next().unwrap();
            let squares: HashSet<(usize, usize)> = path
                .split('M')
                .skip(1)
                .map(|square| {
                    let (column, row) = square.trim_end_matches("h1v1h-1z").split_once(' ').unwrap();
                    (column.parse().unwrap(), row.parse().unwrap())
                })
                .collect();
            assert!((5..=22).contains(&squares.len()), "{svg}");
            assert!(squares.iter().all(|(column, row)| squares.contains(&(4 - column, *row))), "{svg}");
        }
    }

    #[test]
    fn the_seed_and_the_size_cannot_break_the_markup() {
        let svg = identicon("\"><script>", 48);
        assert!(!svg.contains("script") && svg.contains("width=\"48\""), "{svg}");
        assert_eq!(svg.matches('<').count(), svg.matches('>').count());
    }

    #[test]
    fn every_colour_has_contrast_on_light_and_dark() {
        let channel = |hex: &str| {
            let value = f64::from(u8::from_str_radix(hex, 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        let luminance =
            |c: &str| 0.2126 * channel(&c[1..3]) + 0.7152 * channel(&c[3..5]) + 0.0722 * channel(&c[5..7]);
        for colour in COLOURS {
            let own = luminance(colour);
            assert!(1.05 / (own + 0.05) >= 3.0, "{colour} on white: {}", 1.05 / (own + 0.05));
            let dark = luminance("#16181c");
            assert!((own + 0.05) / (dark + 0.05) >= 3.0, "{colour} on dark");
        }
    }

    /// `printf %s antirez@example.com | sha256sum`
    #[test]
    fn a_gravatar_url_contains_the_digest_of_the_normalized_address() {
        let expected = "https://www.gravatar.com/avatar/7ca5eaeb2505e4db3b48dfff0325f26793474aaf064e5fa9477ebd7d1e83a1c9?s=64&d=identicon";
        assert_eq!(gravatar_url("antirez@example.com", 64), expected);
        assert_eq!(gravatar_url("  Antirez@Example.COM ", 64), expected);
        assert!(gravatar_url("a@b.c", 0).contains("?s=1&"));
        assert!(gravatar_url("a@b.c", 1_000_000).contains("?s=2048&"));
    }
}

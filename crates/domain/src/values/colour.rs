//! Colours, how well one can be read on another, and the nearest shade that can.

use crate::values::text_forms::shown;

/// The least contrast of text with what is behind it (WCAG 2.2, 1.4.3).
pub const READABLE_CONTRAST: f64 = 4.5;
/// Steps between a colour and black or white that are tried for a readable shade.
const STEPS: u32 = 100;

/// A colour of the sRGB space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour {
    /// Red, green and blue, 0 to 255.
    pub channels: [u8; 3],
}

impl Colour {
    /// White.
    pub const WHITE: Self = Self { channels: [255; 3] };
    /// Black.
    pub const BLACK: Self = Self { channels: [0; 3] };

    /// Parses `#rrggbb`, in upper or lower case.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#')?;
        let mut channels = [0; 3];
        hex::decode_to_slice(digits, &mut channels).ok()?;
        Some(Self { channels })
    }

    /// The relative luminance: 0 is black, 1 is white (WCAG 2.2).
    pub fn luminance(self) -> f64 {
        let [red, green, blue] = self.channels.map(|channel| {
            let share = f64::from(channel) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// The contrast of two colours, 1 to 21 (WCAG 2.2).
    pub fn contrast(self, other: Self) -> f64 {
        let (one, two) = (self.luminance(), other.luminance());
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }

    /// A mixture of `percent` of this colour and the rest of another.
    #[must_use]
    pub fn mixed(self, percent: u32, other: Self) -> Self {
        let percent = percent.min(100);
        let mut channels = other.channels;
        for (mixed, own) in channels.iter_mut().zip(self.channels) {
            let sum = u32::from(own) * percent + u32::from(*mixed) * (100 - percent);
            *mixed = u8::try_from((sum + 50) / 100).unwrap_or(u8::MAX);
        }
        Self { channels }
    }

    /// The nearest shade between this colour and `end` (black or white) that `is_readable`
    /// accepts; `end` itself if none does.
    #[must_use]
    pub fn nearest_shade(self, end: Self, is_readable: impl Fn(Self) -> bool) -> Self {
        (0..STEPS).map(|step| end.mixed(step, self)).find(|shade| is_readable(*shade)).unwrap_or(end)
    }
}

shown!(Colour: |colour| format_args!("#{}", hex::encode(colour.channels)));

#[cfg(test)]
mod tests {
    use super::*;

    fn colour(text: &str) -> Colour {
        Colour::parse(text).unwrap()
    }

    #[test]
    fn colours_are_six_digits_after_a_hash() {
        assert_eq!(colour("#0B6e6a").to_string(), "#0b6e6a");
        for bad in [
            "", "#", "0b6e6a", "#0b6e6", "#0b6e6a0", "#0b6e6g", "#fff", "red", "#0b6e6a;", "# b6e6a",
            "#é6e6a",
        ] {
            assert_eq!(Colour::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn contrasts_are_those_of_the_guideline() {
        assert!((Colour::BLACK.contrast(Colour::WHITE) - 21.0).abs() < 0.001);
        assert!((Colour::WHITE.contrast(Colour::WHITE) - 1.0).abs() < 0.001);
        // #767676 is the lightest grey that can be read on white.
        assert!(colour("#767676").contrast(Colour::WHITE) >= READABLE_CONTRAST);
        assert!(colour("#777777").contrast(Colour::WHITE) < READABLE_CONTRAST);
    }

    #[test]
    fn a_readable_colour_stays_and_others_change_as_little_as_possible() {
        let on_white = |shade: Colour| shade.contrast(Colour::WHITE) >= READABLE_CONTRAST;
        assert_eq!(colour("#0b6e6a").nearest_shade(Colour::BLACK, on_white), colour("#0b6e6a"));
        let yellow = colour("#ffee00").nearest_shade(Colour::BLACK, on_white);
        let contrast = yellow.contrast(Colour::WHITE);
        assert!((READABLE_CONTRAST..5.0).contains(&contrast), "{yellow} {contrast}");
        assert_eq!(Colour::WHITE.nearest_shade(Colour::BLACK, |_| false), Colour::BLACK);
    }
}

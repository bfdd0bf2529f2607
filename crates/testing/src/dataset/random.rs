//! Numbers that look random and are the same every time.

/// A stream of numbers (SplitMix64). Everything in the dataset has a stream of
/// its own, so that one thing may change without changing all others.
pub struct Random(u64);

impl Random {
    /// The stream of the thing with this number.
    pub fn of(what: &str, number: u64) -> Self {
        // FNV-1a of the name.
        let name = what.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        let mut random = Self(name ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        random.next_number();
        random
    }

    /// Any number.
    pub fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to below `end`, each as likely as any other.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next_number()) * u128::from(end)) >> 64) as u64
    }

    /// A number from 0 up to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.next_number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number from 0 up to below `end`, low ones more often: with a skew of 1
    /// all alike, with 2 the first hundredth a tenth of the time.
    pub fn skewed(&mut self, end: u64, skew: f64) -> u64 {
        ((self.unit().powf(skew) * end as f64) as u64).min(end.saturating_sub(1))
    }

    /// Yes, so many times out of a hundred.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// The numbers from 0 up to below `end` in another order.
    pub fn shuffled(&mut self, end: u64) -> Vec<u64> {
        let mut numbers: Vec<u64> = (0..end).collect();
        for last in (1..numbers.len()).rev() {
            numbers.swap(last, self.below(last as u64 + 1) as usize);
        }
        numbers
    }
}

/// Shares out `total` among `count` places, most to the first: the one at place
/// `r` gets as much as `(r + flat)^-exponent` tells, at least `least` and at most `most`.
pub fn shares(total: u64, count: u64, flat: f64, exponent: f64, [least, most]: [u64; 2]) -> Vec<u64> {
    let weights: Vec<f64> = (0..count).map(|place| (place as f64 + flat).powf(-exponent)).collect();
    let (mut left, mut weight_left) = (total as f64, weights.iter().sum::<f64>());
    weights
        .into_iter()
        .map(|weight| {
            let share = (left * weight / weight_left).round().clamp(least as f64, most as f64);
            left = (left - share).max(0.0);
            weight_left -= weight;
            share as u64
        })
        .collect()
}

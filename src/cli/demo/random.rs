//! Numbers that look random and are the same every time.

/// A stream of numbers (SplitMix64).
pub(super) struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to below `end`, each as likely as any other; 0 if `end` is.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        let product = u128::from(self.next()) * u128::from(end);
        u64::try_from(product >> 64).unwrap_or(0)
    }

    /// The same, low ones more often.
    pub(super) fn low(&mut self, end: u64) -> u64 {
        self.below(end).min(self.below(end))
    }

    /// A place in a list of this length.
    pub(super) fn place(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// Yes, so many times out of a hundred.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of a list that is not empty.
    pub(super) fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        list.get(self.place(list.len()))
    }

    /// Puts a list in another order.
    pub(super) fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.place(last + 1));
        }
    }
}

//! How unlikely numbers are, as natural logarithms: the chances themselves are too small for a
//! number.

/// The logarithm of the chance of at least `count` events where `expected` are: the upper tail of
/// the Poisson distribution. 0 if there are no more than expected. The number of votes of one
/// person for another is a sum of independent events with different chances, whose tail is below
/// this one.
pub(crate) fn ln_at_least(count: u64, expected: f64) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    let events = count as f64;
    if events <= expected {
        return 0.0;
    }
    let expected = expected.max(1e-12);
    let first = events * expected.ln() - expected - ln_factorial(count);
    // The terms after the first, relative to it: each is smaller than that before.
    let (mut sum, mut term, mut next) = (1.0, 1.0, events + 1.0);
    while term > 1e-9 * sum {
        term *= expected / next;
        sum += term;
        next += 1.0;
    }
    (first + f64::ln(sum)).min(0.0)
}

fn ln_factorial(count: u64) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    let number = count as f64;
    if count < 64 {
        return (2..=count)
            .map(|factor| {
                #[allow(clippy::cast_precision_loss)]
                let factor = factor as f64;
                factor.ln()
            })
            .sum();
    }
    // Stirling's series: exact to ten digits here.
    number * number.ln() - number + 0.5 * (std::f64::consts::TAU * number).ln() + 1.0 / (12.0 * number)
}

/// The logarithm of how many groups of `size` there are among `all` accounts.
pub(crate) fn ln_groups(all: usize, size: usize) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    let ratio = |chosen: usize| ((all.saturating_sub(chosen)).max(1) as f64 / (chosen + 1) as f64).ln();
    (0..size).map(ratio).sum()
}

/// The share that a habit has at least, if it was seen `seen` times of `all`: the lower bound of
/// Wilson's interval, at 95 %. So few votes prove little.
pub(crate) fn share_at_least(seen: u64, all: u64) -> f64 {
    /// The 95 % quantile of the normal distribution.
    const Z: f64 = 1.645;
    if all == 0 {
        return 0.0;
    }
    #[allow(clippy::cast_precision_loss)]
    let (seen, all) = (seen.min(all) as f64, all as f64);
    let share = seen / all;
    let middle = share + Z * Z / (2.0 * all);
    let width = Z * (share * (1.0 - share) / all + Z * Z / (4.0 * all * all)).sqrt();
    (middle - width) / (1.0 + Z * Z / all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(given: f64, expected: f64) {
        assert!((given - expected).abs() < 1e-3 * expected.abs().max(1.0), "{given}, not {expected}");
    }

    #[test]
    fn the_tail_is_that_of_the_poisson_distribution() {
        // Computed from the sum of the lower terms.
        check(ln_at_least(1, 0.1), (1.0 - f64::exp(-0.1)).ln());
        check(ln_at_least(2, 0.5), (1.0 - 1.5 * f64::exp(-0.5)).ln());
        check(ln_at_least(10, 1.0), -16.012);
        check(ln_at_least(3, 3.0), 0.0);
        check(ln_at_least(0, 0.0), 0.0);
        // Both ways to compute a factorial agree where one takes over.
        check(ln_factorial(64) - ln_factorial(63), 64.0_f64.ln());
    }

    #[test]
    fn groups_and_shares() {
        check(ln_groups(5_000, 2), (5_000.0_f64 * 4_999.0 / 2.0).ln());
        check(share_at_least(0, 0), 0.0);
        check(share_at_least(12, 12), 0.816);
        check(share_at_least(50, 100), 0.419);
        assert!(share_at_least(2, 2) < 0.45 && share_at_least(5, 12) < 0.25);
    }
}

//! Which form of the plural a number takes: the `Plural-Forms` of a catalogue, which is an expression in C.

/// The most operators and brackets of an expression. Arabic, with six forms, needs 20.
const MAX_STEPS: usize = 200;

/// The numbers whose forms are known before they are asked for.
const SMALL: usize = 200;

/// The forms of the plural in a language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluralForms {
    /// How many there are.
    pub count: usize,
    form: Expression,
    /// The forms of small numbers.
    small: Box<[usize]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Expression {
    Number(u64),
    N,
    Not(Box<Expression>),
    Binary(&'static str, Box<Expression>, Box<Expression>),
    If(Box<Expression>, Box<Expression>, Box<Expression>),
}

/// The operators with two sides, those that bind least first.
const OPERATORS: [&[&str]; 6] =
    [&["||"], &["&&"], &["==", "!="], &["<=", ">=", "<", ">"], &["+", "-"], &["*", "/", "%"]];

impl PluralForms {
    /// Reads the field of a header, such as `nplurals=2; plural=(n != 1);`. `None` if it is malformed.
    pub fn parse(field: &str) -> Option<Self> {
        let part = |name: &str| {
            field.split(';').find_map(|part| part.trim().strip_prefix(name)?.trim_start().strip_prefix('='))
        };
        let count = part("nplurals")?.trim().parse().ok().filter(|count| (1..=8).contains(count))?;
        let mut reader = Reader { rest: part("plural")?, steps: 0 };
        let form = reader.whole()?;
        reader.rest.trim().is_empty().then(|| Self::new(count, form))
    }

    fn new(count: usize, form: Expression) -> Self {
        let unread = Self { count, form, small: Box::default() };
        let small = (0..SMALL).map(|number| unread.of(number as u64)).collect();
        Self { small, ..unread }
    }

    /// One form for one thing, and one for all other numbers of them.
    pub fn english() -> Self {
        let operands = (Expression::N.into(), Expression::Number(1).into());
        Self::new(2, Expression::Binary("!=", operands.0, operands.1))
    }

    /// The form that a number takes, below [`PluralForms::count`].
    pub fn of(&self, number: u64) -> usize {
        let small = usize::try_from(number).ok().and_then(|number| self.small.get(number));
        small.copied().unwrap_or_else(|| {
            usize::try_from(self.form.value(number)).unwrap_or(usize::MAX).min(self.count - 1)
        })
    }
}

impl Expression {
    fn value(&self, n: u64) -> u64 {
        match self {
            Self::Number(number) => *number,
            Self::N => n,
            Self::Not(inner) => u64::from(inner.value(n) == 0),
            Self::If(condition, yes, no) => if condition.value(n) > 0 { yes } else { no }.value(n),
            Self::Binary(operator, left, right) => {
                let (left, right) = (left.value(n), right.value(n));
                match *operator {
                    "||" => u64::from(left > 0 || right > 0),
                    "&&" => u64::from(left > 0 && right > 0),
                    "==" => u64::from(left == right),
                    "!=" => u64::from(left != right),
                    "<=" => u64::from(left <= right),
                    ">=" => u64::from(left >= right),
                    "<" => u64::from(left < right),
                    ">" => u64::from(left > right),
                    "+" => left.wrapping_add(right),
                    "-" => left.wrapping_sub(right),
                    "*" => left.wrapping_mul(right),
                    "/" => left.checked_div(right).unwrap_or_default(),
                    _ => left.checked_rem(right).unwrap_or_default(),
                }
            }
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
    steps: usize,
}

impl Reader<'_> {
    fn takes(&mut self, token: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn whole(&mut self) -> Option<Expression> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return None;
        }
        let condition = self.binary(&OPERATORS)?;
        if !self.takes("?") {
            return Some(condition);
        }
        let yes = self.whole()?;
        if !self.takes(":") {
            return None;
        }
        Some(Expression::If(condition.into(), yes.into(), self.whole()?.into()))
    }

    fn binary(&mut self, levels: &[&[&'static str]]) -> Option<Expression> {
        let Some((operators, tighter)) = levels.split_first() else { return self.single() };
        let mut left = self.binary(tighter)?;
        while let Some(operator) = operators.iter().find(|operator| self.takes(operator)) {
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return None;
            }
            left = Expression::Binary(operator, left.into(), self.binary(tighter)?.into());
        }
        Some(left)
    }

    fn single(&mut self) -> Option<Expression> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return None;
        }
        if self.takes("!") {
            return Some(Expression::Not(self.single()?.into()));
        }
        if self.takes("(") {
            let inner = self.whole()?;
            return self.takes(")").then_some(inner);
        }
        if self.takes("n") {
            return Some(Expression::N);
        }
        let rest = self.rest.trim_start();
        let digits = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest.get(..digits)?.parse().ok()?;
        self.rest = rest.get(digits..)?;
        Some(Expression::Number(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_the_forms_of_their_language() {
        for (field, forms) in [
            ("nplurals=1; plural=0;", [0, 0, 0, 0, 0, 0]),
            ("nplurals=2; plural=(n != 1);", [1, 0, 1, 1, 1, 1]),
            ("nplurals=2; plural=(n > 1)", [0, 0, 1, 1, 1, 1]),
            (
                "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);",
                [2, 0, 1, 2, 2, 0],
            ),
            (
                "nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5);",
                [0, 1, 2, 3, 4, 4],
            ),
            ("nplurals=2; plural=!(n == 1);", [1, 0, 1, 1, 1, 1]),
        ] {
            let rule = PluralForms::parse(field).unwrap();
            assert_eq!([0, 1, 2, 5, 11, 21].map(|number| rule.of(number)), forms, "{field}");
        }
    }

    #[test]
    fn a_form_that_does_not_exist_is_the_last() {
        assert_eq!(PluralForms::parse("nplurals=2; plural=n;").unwrap().of(7), 1);
        assert_eq!(PluralForms::parse("nplurals=2; plural=1-n/0;").unwrap().of(7), 1);
    }

    #[test]
    fn what_is_not_an_expression_is_refused() {
        let deep = format!("nplurals=2; plural={}n", "!".repeat(100_000));
        let wide = format!("nplurals=2; plural=n{}", "+n".repeat(100_000));
        for field in [
            "",
            "nplurals=2;",
            "plural=n;",
            "nplurals=0; plural=0;",
            "nplurals=99; plural=0;",
            "nplurals=2; plural=n = 1;",
            "nplurals=2; plural=(n;",
            "nplurals=2; plural=n ? 1;",
            "nplurals=2; plural=m;",
            &deep,
            &wide,
        ] {
            assert_eq!(PluralForms::parse(field), None, "{field:.40}");
        }
    }
}

//! Charts as SVG.
//!
//! They have no style attributes and no scripts: classes give the colours. Lengths and labels carry the meaning, not
//! colours alone. A table next to each chart has all its values.

use maud::{Markup, html};
use sessile_display::measure::number_words;

use crate::html::Text;

/// What the values of a chart are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Dollars,
    Tokens,
    Sessions,
}

/// One value of a chart.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) name: String,
    pub(super) value: f64,
}

/// The width of charts. They scale with the page.
const WIDTH: f64 = 960.0;
/// Above this number, columns become one shape, because each would be thinner than a pixel.
const MAX_COLUMNS: usize = 450;
/// The bars of a chart with names.
pub(super) const MAX_BARS: usize = 20;
/// The characters of a name in a chart.
const MAX_NAME: usize = 30;
/// Larger values are drawn as this one, so that sums of them stay finite.
const LARGEST: f64 = 1e300;

impl Unit {
    /// A value in full.
    pub(super) fn text(self, value: f64) -> String {
        if value.is_nan() {
            return "not a number".to_owned();
        }
        let sign = if value < 0.0 { "-" } else { "" };
        let size = value.abs();
        let number = match self {
            _ if size.is_infinite() => "∞".to_owned(),
            _ if size >= 1e15 => format!("{size:.3e}"),
            Self::Dollars if size > 0.0 && size < 0.01 => format!("{size:.4}"),
            Self::Dollars => {
                let cents = format!("{:.2}", size.fract());
                // 0.999 rounds up to the next dollar.
                let whole = size.trunc() + if cents.starts_with('1') { 1.0 } else { 0.0 };
                format!("{}{}", whole_words(whole), cents.get(1..).unwrap_or_default())
            }
            Self::Tokens | Self::Sessions => whole_words(size.round()),
        };
        format!("{sign}{}{number}", if self == Self::Dollars { "$" } else { "" })
    }

    /// A round number at an axis, whose neighbours differ by `step`.
    fn tick(self, value: f64, step: f64) -> String {
        let sign = if value < 0.0 { "-" } else { "" };
        let size = value.abs();
        let scales = [(1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"), (1.0, "")];
        let (scale, suffix) = scales.into_iter().find(|(scale, _)| size >= *scale).unwrap_or((1.0, ""));
        let number = if size >= 1e15 || size > 0.0 && step < 1e-6 {
            format!("{size:e}")
        } else {
            // The decimals that tell neighbours apart.
            let n_decimals = (0..9).find(|n| step / scale * 10_f64.powi(*n) >= 0.999).unwrap_or(9);
            let n_decimals = usize::try_from(n_decimals).unwrap_or_default();
            let is_money = self == Self::Dollars && suffix.is_empty() && n_decimals == 1;
            format!("{:.*}", if is_money { 2 } else { n_decimals }, size / scale)
        };
        format!("{sign}{}{number}{suffix}", if self == Self::Dollars { "$" } else { "" })
    }
}

fn whole_words(number: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be below 1e15")]
    number_words(number as u64)
}

/// What is drawn for a value: 0 if it is not a number.
fn drawn(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value.clamp(-LARGEST, LARGEST) }
}

/// A coordinate.
fn at(coordinate: f64) -> String {
    let text = format!("{coordinate:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[expect(clippy::cast_precision_loss, reason = "charts have few values")]
fn float(number: usize) -> f64 {
    number as f64
}

/// A scale with round numbers.
struct Axis {
    low: f64,
    high: f64,
    step: f64,
}

impl Axis {
    /// A scale that contains zero and all values.
    fn of(values: &[Value], unit: Unit) -> Self {
        let (mut low, mut high) = (0.0_f64, 0.0_f64);
        for value in values {
            low = low.min(drawn(value.value));
            high = high.max(drawn(value.value));
        }
        let least = if unit == Unit::Dollars { 0.0 } else { 1.0 };
        let step = round_step((high - low) / 4.0).max(least);
        let axis = Self { low: (low / step).floor() * step, high: (high / step).ceil() * step, step };
        if axis.high > axis.low { axis } else { Self { low: 0.0, high: step, step } }
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let count = ((self.high - self.low) / self.step).round().clamp(1.0, 12.0);
        #[expect(clippy::cast_possible_truncation, reason = "at most 12")]
        let count = count as i32;
        (0..=count).map(|n| self.low + f64::from(n) * self.step)
    }

    /// The place of a value between the ends, from 0 to 1.
    fn share(&self, value: f64) -> f64 {
        ((drawn(value) - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }
}

/// The next 1, 2 or 5 times a power of ten.
fn round_step(rough: f64) -> f64 {
    if !rough.is_finite() || rough < 1e-9 {
        return 1.0;
    }
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= rough * 0.999_999);
    factor.unwrap_or(10.0) * power
}

/// The start of a name.
fn short(name: &str) -> String {
    let mut chars = name.chars();
    let start: String = chars.by_ref().take(MAX_NAME).collect();
    if chars.next().is_some() { start + "…" } else { start }
}

/// A chart with a scroll bar where the page is narrow.
fn framed(title: &str, drawing: &Markup) -> Markup {
    html! { div.chart tabindex="0" role="group" aria-label=(Text(title)) { (drawing) } }
}

/// What a chart says in a sentence.
fn summary(title: &str, values: &[Value], unit: Unit) -> String {
    let largest = values.iter().filter(|value| value.value.is_finite()).max_by(|a, b| a.value.total_cmp(&b.value));
    match largest {
        Some(largest) => format!("{title}; the highest is {} ({})", unit.text(largest.value), short(&largest.name)),
        None => title.to_owned(),
    }
}

/// A column for each value, in their order.
pub(super) fn columns(title: &str, values: &[Value], unit: Unit) -> Markup {
    const HEIGHT: f64 = 230.0;
    const LEFT: f64 = 64.0;
    const RIGHT: f64 = 8.0;
    const TOP: f64 = 10.0;
    const BOTTOM: f64 = 28.0;
    let axis = Axis::of(values, unit);
    let (plot_width, plot_height) = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
    let y = |value: f64| TOP + (1.0 - axis.share(value)) * plot_height;
    let column_width = plot_width / float(values.len().max(1));
    let x = |index: usize| LEFT + float(index) * column_width;
    let gap = if column_width > 3.0 { (column_width * 0.2).min(6.0) } else { 0.0 };
    // A value that is not zero is visible.
    let ends = |value: f64| {
        let (top, bottom) = (y(value.max(0.0)), y(value.min(0.0)));
        let height = if drawn(value) == 0.0 { 0.0 } else { (bottom - top).max(1.0) };
        (top.min(bottom - height), height)
    };
    let label_step = values.len().div_ceil(8).max(1);
    let drawing = html! {
        svg role="img" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } aria-label=(Text(&summary(title, values, unit))) {
            @for tick in axis.ticks() {
                line.grid x1=(LEFT) x2=(WIDTH - RIGHT) y1=(at(y(tick))) y2=(at(y(tick))) {}
                text x=(LEFT - 6.0) y=(at(y(tick) + 4.0)) text-anchor="end" { (unit.tick(tick, axis.step)) }
            }
            line.zero x1=(LEFT) x2=(WIDTH - RIGHT) y1=(at(y(0.0))) y2=(at(y(0.0))) {}
            @if values.len() > MAX_COLUMNS {
                path.bar d=(outline(values, &x, column_width, &ends)) {}
            } @else {
                @for (index, value) in values.iter().enumerate() {
                    @let (top, height) = ends(value.value);
                    rect.bar x=(at(x(index) + gap / 2.0)) y=(at(top)) width=(at((column_width - gap).min(80.0))) height=(at(height)) {
                        title { (Text(&short(&value.name))) ": " (unit.text(value.value)) }
                    }
                }
            }
            @for (index, value) in values.iter().enumerate().step_by(label_step) {
                @let middle = x(index) + (column_width - gap).min(80.0) / 2.0;
                text x=(at(middle.clamp(LEFT + 20.0, WIDTH - 40.0))) y=(HEIGHT - 8.0) text-anchor="middle" { (Text(&short(&value.name))) }
            }
        }
    };
    framed(title, &drawing)
}

/// All columns as one shape.
fn outline(values: &[Value], x: &dyn Fn(usize) -> f64, column_width: f64, ends: &dyn Fn(f64) -> (f64, f64)) -> String {
    let mut path = String::new();
    for (index, value) in values.iter().enumerate() {
        let (top, height) = ends(value.value);
        if height > 0.0 {
            use std::fmt::Write;
            // Writing to a string cannot fail.
            write!(path, "M{:.2} {top:.1}h{column_width:.2}v{height:.1}h-{column_width:.2}z", x(index)).ok();
        }
    }
    path
}

/// A bar with a name for each value, in their order. Draws only the first ones.
pub(super) fn bars(title: &str, values: &[Value], unit: Unit) -> Markup {
    const LEFT: f64 = 230.0;
    const RIGHT: f64 = 110.0;
    const ROW: f64 = 26.0;
    let values = values.get(..MAX_BARS).unwrap_or(values);
    let axis = Axis::of(values, unit);
    let plot_width = WIDTH - LEFT - RIGHT;
    let x = |value: f64| LEFT + axis.share(value) * plot_width;
    let height = float(values.len()) * ROW + 4.0;
    let drawing = html! {
        svg role="img" viewBox={ "0 0 " (WIDTH) " " (height) } aria-label=(Text(&summary(title, values, unit))) {
            line.zero x1=(at(x(0.0))) x2=(at(x(0.0))) y1="0" y2=(height) {}
            @for (index, value) in values.iter().enumerate() {
                @let top = float(index) * ROW;
                @let (from, to) = (x(value.value.min(0.0)), x(value.value.max(0.0)));
                @let width = if drawn(value.value) == 0.0 { 0.0 } else { (to - from).max(1.0) };
                text.name x=(LEFT - 8.0) y=(at(top + 18.0)) text-anchor="end" { (Text(&short(&value.name))) }
                rect.bar x=(at(from)) y=(at(top + 4.0)) width=(at(width)) height="18" {}
                text x=(at(to.max(from + width) + 6.0)) y=(at(top + 18.0)) { (unit.text(value.value)) }
            }
        }
    };
    framed(title, &drawing)
}

/// A square for each day, a column for each week. The first value is a Monday. A larger square is a higher value.
pub(super) fn calendar(title: &str, values: &[Value], unit: Unit) -> Markup {
    const LEFT: f64 = 40.0;
    const TOP: f64 = 20.0;
    const CELL: f64 = 17.0;
    const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let largest = values.iter().map(|value| drawn(value.value)).fold(0.0, f64::max);
    let n_weeks = values.len().div_ceil(7);
    let weeks = values.chunks(7).enumerate();
    let month = |week: &[Value]| week.first().and_then(|day| day.name.get(..7)).unwrap_or_default().to_owned();
    let months: Vec<String> = values.chunks(7).map(month).collect();
    let width = LEFT + float(n_weeks) * CELL + 10.0;
    let drawing = html! {
        svg role="img" viewBox={ "0 0 " (width.max(WIDTH)) " " (TOP + 7.0 * CELL + 4.0) } aria-label=(Text(&summary(title, values, unit))) {
            @for (index, day) in DAYS.iter().enumerate().step_by(2) {
                text x=(LEFT - 8.0) y=(at(TOP + float(index) * CELL + 13.0)) text-anchor="end" { (day) }
            }
            @for (week, days) in weeks {
                @let left = LEFT + float(week) * CELL;
                @let is_new_month = week > 0 && months.get(week) != months.get(week - 1) && week + 2 < n_weeks;
                @if is_new_month {
                    text x=(at(left)) y="14" { (Text(months.get(week).map(String::as_str).unwrap_or_default())) }
                }
                @for (index, day) in days.iter().enumerate() {
                    @let top = TOP + float(index) * CELL;
                    @let size = cell_size(drawn(day.value), largest);
                    rect.day x=(at(left + 0.5)) y=(at(top + 0.5)) width="15" height="15" rx="2" {
                        title { (Text(&day.name)) ": " (unit.text(day.value)) }
                    }
                    @if size > 0.0 {
                        rect.bar x=(at(left + 8.0 - size / 2.0)) y=(at(top + 8.0 - size / 2.0)) width=(at(size)) height=(at(size)) rx="1" {
                            title { (Text(&day.name)) ": " (unit.text(day.value)) }
                        }
                    }
                }
            }
        }
    };
    framed(title, &drawing)
}

/// The size of a square: one of four, by the value's share of the largest one.
fn cell_size(value: f64, largest: f64) -> f64 {
    match value / largest {
        share if share > 0.75 => 15.0,
        share if share > 0.5 => 11.0,
        share if share > 0.25 => 8.0,
        share if share > 0.0 => 5.0,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(values: &[(&str, f64)]) -> Vec<Value> {
        values.iter().map(|(name, value)| Value { name: (*name).to_owned(), value: *value }).collect()
    }

    #[test]
    fn axes_have_round_numbers() {
        let ticks = |values: &[f64], unit: Unit| {
            let values: Vec<Value> = values.iter().map(|value| Value { name: String::new(), value: *value }).collect();
            let axis = Axis::of(&values, unit);
            axis.ticks().map(|tick| unit.tick(tick, axis.step)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(ticks(&[3.0, 9.5], Unit::Dollars), "$0 $5 $10");
        assert_eq!(ticks(&[1.7], Unit::Dollars), "$0.00 $0.50 $1.00 $1.50 $2.00");
        assert_eq!(ticks(&[0.004], Unit::Dollars), "$0.000 $0.001 $0.002 $0.003 $0.004");
        assert_eq!(ticks(&[1234.0], Unit::Tokens), "0 500 1.0k 1.5k");
        assert_eq!(ticks(&[5_400_000.0], Unit::Tokens), "0 2M 4M 6M");
        assert_eq!(ticks(&[1.0], Unit::Sessions), "0 1");
        assert_eq!(ticks(&[-3.0, 5.0], Unit::Dollars), "-$4 -$2 $0 $2 $4 $6");
        assert_eq!(ticks(&[], Unit::Dollars), "$0 $1");
        assert_eq!(ticks(&[0.0, f64::NAN], Unit::Sessions), "0 1");
        for odd in [f64::INFINITY, f64::MAX, f64::MIN_POSITIVE, f64::NEG_INFINITY, 1e-320] {
            assert!(ticks(&[odd, -odd], Unit::Dollars).split(' ').count() <= 13, "{odd}");
        }
        assert_eq!(
            [0.0, 0.004, 0.999, 1234.5, -2.0, f64::NAN, f64::INFINITY, 2e300].map(|value| Unit::Dollars.text(value)),
            ["$0.00", "$0.0040", "$1.00", "$1,234.50", "-$2.00", "not a number", "$∞", "$2.000e300"]
        );
    }

    #[test]
    fn a_small_chart_looks_like_this() {
        let svg = columns("Cost per day", &values(&[("2026-01-01", 1.0), ("2026-01-02", 0.0)]), Unit::Dollars);
        let expected = "<div class=\"chart\" tabindex=\"0\" role=\"group\" aria-label=\"Cost per day\">\
            <svg role=\"img\" viewBox=\"0 0 960 230\" aria-label=\"Cost per day; the highest is $1.00 (2026-01-01)\">\
            <line class=\"grid\" x1=\"64\" x2=\"952\" y1=\"202\" y2=\"202\"></line>\
            <text x=\"58\" y=\"206\" text-anchor=\"end\">$0.00</text>\
            <line class=\"grid\" x1=\"64\" x2=\"952\" y1=\"106\" y2=\"106\"></line>\
            <text x=\"58\" y=\"110\" text-anchor=\"end\">$0.50</text>\
            <line class=\"grid\" x1=\"64\" x2=\"952\" y1=\"10\" y2=\"10\"></line>\
            <text x=\"58\" y=\"14\" text-anchor=\"end\">$1.00</text>\
            <line class=\"zero\" x1=\"64\" x2=\"952\" y1=\"202\" y2=\"202\"></line>\
            <rect class=\"bar\" x=\"67\" y=\"10\" width=\"80\" height=\"192\"><title>2026-01-01: $1.00</title></rect>\
            <rect class=\"bar\" x=\"511\" y=\"202\" width=\"80\" height=\"0\"><title>2026-01-02: $0.00</title></rect>\
            <text x=\"104\" y=\"222\" text-anchor=\"middle\">2026-01-01</text>\
            <text x=\"548\" y=\"222\" text-anchor=\"middle\">2026-01-02</text></svg></div>";
        assert_eq!(svg.into_string(), expected);
    }

    #[test]
    fn charts_survive_every_value_and_name() {
        let evil = "</title></svg><script>alert(1)</script>\"'\u{202e}";
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 1e-320, -0.0, 5.0];
        let mut all: Vec<Value> = odd.map(|value| Value { name: evil.repeat(99), value }).to_vec();
        for n_values in [0, 1, 8, 2000] {
            all.resize(n_values.max(1), Value { name: "2026-01-01".to_owned(), value: 1.0 });
            let shown = all.get(..n_values).unwrap();
            for unit in [Unit::Dollars, Unit::Tokens, Unit::Sessions] {
                for draw in [columns, bars, calendar] {
                    let svg = draw(evil, shown, unit).into_string();
                    for raw in ["<script", "\u{202e}", "style=", "NaN", "inf\"", "=\"-"] {
                        assert!(!svg.contains(raw), "{n_values} {unit:?}: {raw} in {svg}");
                    }
                    assert!(svg.len() < 1_000_000);
                }
            }
            all = odd.map(|value| Value { name: evil.repeat(99), value }).to_vec();
        }
    }

    #[test]
    fn squares_have_four_sizes() {
        let sizes = [0.0, 1.0, 30.0, 60.0, 100.0].map(|value| at(cell_size(value, 100.0)));
        assert_eq!(sizes, ["0", "5", "8", "11", "15"]);
        assert!((cell_size(0.0, 0.0) + cell_size(-5.0, 1.0)).abs() < f64::EPSILON);
    }
}

//! Plots the growth of every cost in one picture.

use std::fmt::Write;

use super::growth::{Curve, Point};
use super::row::amount;

const WIDTH: f64 = 280.0;
const HEIGHT: f64 = 200.0;
const PER_LINE: usize = 3;
/// Room for titles and numbers around each curve.
const LEFT: f64 = 52.0;
const TOP: f64 = 30.0;
const RIGHT: f64 = 16.0;
const BOTTOM: f64 = 34.0;

/// Returns an SVG with a panel for each cost. Both axes are logarithmic: a rising straight line grows with the data.
pub(super) fn svg(curves: &[Curve]) -> String {
    let n_lines = curves.len().div_ceil(PER_LINE);
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let (width, height) = (WIDTH * PER_LINE as f64, HEIGHT * n_lines as f64 + 24.0);
    let mut out = String::new();
    // Writing to a string cannot fail.
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"12\" y=\"16\" fill=\"{OURS}\">● Sessile</text><text x=\"80\" y=\"16\" fill=\"{OTHER}\">■ pi 1.5.0 (search: ripgrep)</text>\
         <text x=\"260\" y=\"16\" fill=\"#555\">median milliseconds with 1, 4 and 16 times the data, both axes logarithmic</text>"
    )
    .ok();
    for (index, curve) in curves.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let (x, y) = ((index % PER_LINE) as f64 * WIDTH, (index / PER_LINE) as f64 * HEIGHT + 24.0);
        writeln!(out, "<g transform=\"translate({x},{y})\">").ok();
        panel(curve, &mut out);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

const OURS: &str = "#0b6e4f";
const OTHER: &str = "#b5541c";

fn panel(curve: &Curve, out: &mut String) {
    let all = curve.points.iter().flat_map(|point| [point.ours_ms, point.other_ms]).filter(|ms| *ms > 0.0);
    let (low, high) = all.fold((f64::INFINITY, 0.0_f64), |(low, high), ms| (low.min(ms), high.max(ms)));
    let (low, high) = (low.log10().floor(), high.log10().ceil().max(low.log10().floor() + 1.0));
    let (inner_width, inner_height) = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
    let y_of = |ms: f64| TOP + inner_height * (1.0 - (ms.log10() - low) / (high - low));
    #[expect(clippy::cast_precision_loss, reason = "at most sixteen")]
    let x_of = |factor: u64| LEFT + inner_width * (factor as f64).log(16.0);
    writeln!(out, "<text x=\"{LEFT}\" y=\"20\" font-weight=\"bold\">{}</text>", curve.name).ok();
    let mut power = low;
    while power <= high {
        let y = y_of(10_f64.powf(power));
        let label = amount_of_power(power);
        writeln!(
            out,
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555\">{label}</text>",
            LEFT + inner_width,
            LEFT - 5.0,
            y + 4.0
        )
        .ok();
        power += 1.0;
    }
    for point in &curve.points {
        let anchor = if point.factor == 1 {
            "start"
        } else if point.factor == 16 {
            "end"
        } else {
            "middle"
        };
        let (x, y) = (x_of(point.factor), HEIGHT - BOTTOM + 16.0);
        writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#555\">{}</text>", point.size)
            .ok();
    }
    line(&curve.points, OTHER, &|point| (x_of(point.factor), y_of(point.other_ms)), false, out);
    line(&curve.points, OURS, &|point| (x_of(point.factor), y_of(point.ours_ms)), true, out);
}

fn amount_of_power(power: f64) -> String {
    if power < 0.0 { format!("{}", 10_f64.powf(power)) } else { amount(10_f64.powf(power)) }
}

fn line(points: &[Point], color: &str, position: &dyn Fn(&Point) -> (f64, f64), is_round: bool, out: &mut String) {
    let positions: Vec<(f64, f64)> = points.iter().map(position).filter(|(_, y)| y.is_finite()).collect();
    let path: Vec<String> = positions.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    writeln!(out, "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>", path.join(" ")).ok();
    for (x, y) in positions {
        if is_round {
            writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{color}\"/>").ok();
        } else {
            writeln!(
                out,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"7\" height=\"7\" fill=\"{color}\"/>",
                x - 3.5,
                y - 3.5
            )
            .ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_curve_has_its_panel() {
        let point = |factor| Point { factor, size: format!("{factor} MB"), ours_ms: 0.5, other_ms: 120.0 };
        let curve = |name| Curve { name, other: "pi 1.5.0", points: [1, 4, 16].map(point).to_vec() };
        let svg = svg(&[curve("one"), curve("two"), curve("three"), curve("four")]);
        assert_eq!(svg.matches("<g transform").count(), 4);
        assert_eq!(svg.matches("<circle").count(), 12);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

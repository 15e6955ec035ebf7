//! The samples as a picture: a panel for each kind, a line for each series.

use std::fmt::Write;

use super::sampler::{Kind, Samples};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 150.0;
/// Space around each panel, for its title and its labels.
const MARGIN: f64 = 36.0;
const LEGEND: f64 = 190.0;
const COLORS: [&str; 10] =
    ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"];
/// The series of a panel that are drawn: those with the highest values.
const N_LINES: usize = 10;

/// Draws all samples as SVG.
pub(super) fn draw(samples: &Samples) -> String {
    let (step_x, step_y) = (WIDTH + LEGEND + 2.0 * MARGIN, HEIGHT + 2.0 * MARGIN);
    let mut panels = String::new();
    let mut number = 0_u8;
    for kind in Kind::ALL {
        let mut series: Vec<(&str, &[(f64, f64)])> = samples.of(kind).collect();
        let top = |samples: &[(f64, f64)]| samples.iter().map(|(_, value)| *value).fold(0.0, f64::max);
        series.sort_by(|one, other| top(other.1).total_cmp(&top(one.1)));
        series.truncate(N_LINES);
        let Some((_, highest)) = series.first() else { continue };
        let (highest, end) = (
            top(highest).max(1.0),
            series.iter().filter_map(|(_, of)| of.last()).map(|last| last.0).fold(1.0, f64::max),
        );
        let (x, y) = (MARGIN + f64::from(number % 2) * step_x, MARGIN + f64::from(number / 2) * step_y);
        number += 1;
        writeln!(
            panels,
            r#"<g transform="translate({x:.0},{y:.0})"><text y="-8" font-weight="bold">{}</text>"#,
            kind.name()
        )
        .unwrap();
        writeln!(panels, r##"<path d="M0,0V{HEIGHT}H{WIDTH}" fill="none" stroke="#888"/>"##).unwrap();
        writeln!(panels, r#"<text x="-4" y="8" text-anchor="end">{highest:.0}</text>"#).unwrap();
        writeln!(
            panels,
            r#"<text x="{WIDTH}" y="{:.0}" text-anchor="end">{:.0} minutes</text>"#,
            HEIGHT + 14.0,
            end / 60.0
        )
        .unwrap();
        for ((of, samples), (color, at)) in series.iter().zip(COLORS.iter().zip(0_u8..)) {
            let points: Vec<String> = samples
                .iter()
                .map(|(seconds, value)| {
                    format!("{:.1},{:.1}", seconds / end * WIDTH, HEIGHT - value / highest * HEIGHT)
                })
                .collect();
            writeln!(panels, r#"<polyline points="{}" fill="none" stroke="{color}"/>"#, points.join(" ")).unwrap();
            writeln!(
                panels,
                r#"<text x="{:.0}" y="{:.0}" fill="{color}">{of}</text>"#,
                WIDTH + 8.0,
                10.0 + 14.0 * f64::from(at)
            )
            .unwrap();
        }
        panels.push_str("</g>\n");
    }
    let (width, height) = (2.0 * step_x, f64::from(number.div_ceil(2)) * step_y);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{panels}</svg>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_series_is_a_line_within_its_panel() {
        let mut samples = Samples::default();
        for n in 0..10 {
            samples.add(Kind::Memory, "rpc", f64::from(n) * 60.0, f64::from(n));
            samples.add(Kind::Files, "cache", f64::from(n) * 60.0, 5.0);
        }
        let svg = draw(&samples);
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains("0.0,150.0 ") && svg.contains(" 460.0,0.0\""), "{svg}");
        assert!(svg.contains(">rpc</text>") && svg.contains(">9 minutes</text>"));
    }
}

//! The statistics: cost, tokens and sessions by time, model and project.

use std::collections::HashMap;
use std::path::Path;

use axum::http::HeaderValue;
use axum::http::header::REFRESH;
use axum::response::Response;
use maud::{Markup, html};
use sessile::Sessions;
use sessile::stats::{Grouping, Ledger, LedgerQuery, Stats, StatsGroup, Tally};
use sessile_display::measure::{counted, number_words};

use super::app::App;
use super::chart::{self, MAX_BARS, Unit, Value};
use super::counts::Counted;
use super::form::Form;
use super::frame::frame;
use super::list::{key_of, short_path};
use super::reply::page;
use crate::html::Text;

/// A span of time: its value, its name, and its days for today.
type Span = (&'static str, &'static str, fn(i64) -> Days);

/// The spans to choose from.
const SPANS: [Span; 7] = [
    ("week", "This week", |today| (Some(monday(today)), None)),
    ("last-week", "Last week", |today| (Some(monday(today) - 7), Some(monday(today) - 1))),
    ("7d", "7 days", |today| (Some(today - 6), None)),
    ("30d", "30 days", |today| (Some(today - 29), None)),
    ("", "90 days", |today| (Some(today - 89), None)),
    ("year", "1 year", |today| (Some(today - 364), None)),
    ("all", "All", |_| (None, None)),
];

/// The first and the last day of a span, which may be open.
type Days = (Option<i64>, Option<i64>);

/// What charts show: their values, names and units.
const METRICS: [(&str, &str, Unit); 3] =
    [("", "Cost", Unit::Dollars), ("tokens", "Tokens", Unit::Tokens), ("sessions", "Sessions", Unit::Sessions)];

/// The longest time in which days without usage are shown, in days. Dates of sessions can be wrong by millennia.
const MAX_DAYS: i64 = 4000;
/// The values of a chart, and the rows of a table.
const MAX_VALUES: usize = 2000;
/// The weeks of a calendar.
const WEEKS: i64 = 53;
/// The characters of a name in choices and tables.
const MAX_NAME: usize = 120;

/// Answers `/stats`.
pub(crate) fn show(app: &App, form: &Form, counts: &Counted) -> Response {
    match counts {
        Counted::Done { ledger, is_old } => {
            let view = View::new(&app.sessions, ledger, form);
            page(frame("Statistics", "/stats", &view.page(*is_old)))
        }
        Counted::Counting(n_done, n_all) => {
            let content = html! {
                h1 { "Statistics" }
                p role="status" {
                    "Sessile is counting: " (number_words(*n_done)) " of " (number_words(*n_all)) " sessions so far. This page shows the figures as soon as they are there."
                }
            };
            let mut response = page(frame("Statistics", "/stats", &content));
            // Works without scripts.
            response.headers_mut().insert(REFRESH, HeaderValue::from_static("1"));
            response
        }
    }
}

/// What the page was asked for.
struct View<'v> {
    sessions: &'v Sessions,
    ledger: &'v Ledger,
    form: &'v Form,
    unit: Unit,
    /// The word for the unit.
    metric: &'static str,
    since: Option<i64>,
    until: Option<i64>,
    today: i64,
    /// The projects and models to choose from.
    projects: Vec<String>,
    models: Vec<String>,
    /// The chosen ones.
    project: Option<String>,
    model: Option<String>,
}

/// Names a model in URLs: by its name, or by a hash of it if the name is long or has unusual characters.
fn choice_of(name: &str) -> String {
    let is_plain = |char: char| char == ' ' || char.is_ascii_graphic() || char.is_alphanumeric();
    if name.len() <= 200 && name.trim() == name && name.chars().all(is_plain) {
        name.to_owned()
    } else {
        format!("key:{}", key_of(Path::new(name)))
    }
}

impl<'v> View<'v> {
    fn new(sessions: &'v Sessions, ledger: &'v Ledger, form: &'v Form) -> Self {
        let names = |grouping: Grouping| {
            let stats = ledger.stats(&LedgerQuery { by: vec![grouping], ..LedgerQuery::default() });
            stats.groups.into_iter().filter_map(|group| group.keys.into_iter().next()).collect::<Vec<String>>()
        };
        let (projects, models) = (names(Grouping::Project), names(Grouping::Model));
        let today = sessions.local_day(sessions.environment().now());
        let span = |wanted: &str| SPANS.iter().find(|(value, _, _)| *value == wanted);
        let (since, until) = span(form.get("span")).or(span("")).map_or((None, None), |(_, _, days)| days(today));
        let metric = METRICS.iter().find(|(value, _, _)| *value == form.get("metric")).unwrap_or(&METRICS[0]);
        let (wanted_project, wanted_model) = (form.get("project"), form.get("model"));
        // A name that does not exist finds nothing.
        let chosen = |wanted: &str, found: Option<&String>| {
            (!wanted.is_empty()).then(|| found.map_or_else(|| wanted.to_owned(), String::clone))
        };
        Self {
            project: chosen(wanted_project, projects.iter().find(|name| project_key(name) == wanted_project)),
            model: chosen(wanted_model, models.iter().find(|name| choice_of(name) == wanted_model)),
            since,
            until,
            unit: metric.2,
            metric: metric.1,
            sessions,
            ledger,
            form,
            today,
            projects,
            models,
        }
    }

    fn query(&self, by: &[Grouping]) -> LedgerQuery<'_> {
        LedgerQuery {
            by: by.to_vec(),
            since: self.since,
            until: self.until,
            project: self.project.as_deref(),
            model: self.model.as_deref(),
        }
    }

    fn value(&self, group: &StatsGroup) -> f64 {
        match self.unit {
            Unit::Dollars => group.tally.cost,
            Unit::Tokens => group.tally.tokens.total(),
            Unit::Sessions => float(group.sessions.unwrap_or_default()),
        }
    }

    fn project_name(&self, path: &str) -> String {
        if path.is_empty() { "(no directory)".to_owned() } else { short_path(self.sessions, Path::new(path)) }
    }

    fn page(&self, is_old: bool) -> Markup {
        let total = self.ledger.stats(&self.query(&[]));
        let by_day = self.ledger.stats(&self.query(&[Grouping::Day]));
        html! {
            h1.offscreen { "Statistics" }
            (self.filters())
            @if is_old { p.aside role="status" { "These figures are being updated. Load the page again for the latest ones." } }
            (totals(&total))
            section aria-labelledby="per-day" {
                h2 #per-day { (self.metric) " per day" }
                (self.periods(Grouping::Day, &by_day))
            }
            section aria-labelledby="per-week" {
                h2 #per-week { (self.metric) " per week" }
                (self.periods(Grouping::Week, &self.ledger.stats(&self.query(&[Grouping::Week]))))
            }
            (self.calendar())
            section aria-labelledby="by-model" {
                h2 #by-model { (self.metric) " by model" }
                (self.names(Grouping::Model))
            }
            section aria-labelledby="by-project" {
                h2 #by-project { (self.metric) " by project" }
                (self.names(Grouping::Project))
            }
        }
    }

    fn filters(&self) -> Markup {
        let link = |name: &str, value: &str| self.form.with(name, value).url("/stats");
        let is_current = |name: &str, value: &str| (self.form.get(name) == value).then_some("true");
        let choice = |name: &str, label: &str, all: &str, options: &[(String, String)]| {
            let given = self.form.get(name);
            let is_known = given.is_empty() || options.iter().any(|(value, _)| value == given);
            html! {
                select name=(name) aria-label=(label) {
                    option value="" { (all) }
                    @for (value, text) in options { option value=(Text(value)) selected[value == given] { (Text(&cut(text))) } }
                    @if !is_known { option value=(Text(given)) selected { (Text(&cut(given))) } }
                }
            }
        };
        let projects: Vec<_> = self.projects.iter().map(|path| (project_key(path), self.project_name(path))).collect();
        let models: Vec<_> = self.models.iter().map(|model| (choice_of(model), model.clone())).collect();
        html! {
            div.filters {
                nav.choices aria-label="Figure" {
                    @for (value, text, _) in METRICS { a href=(link("metric", value)) aria-current=[is_current("metric", value)] { (text) } }
                }
                nav.choices aria-label="Time" {
                    @for (value, text, _) in SPANS { a href=(link("span", value)) aria-current=[is_current("span", value)] { (text) } }
                }
                form action="/stats" method="get" {
                    @for name in ["span", "metric"] {
                        @if !self.form.get(name).is_empty() { input type="hidden" name=(name) value=(Text(self.form.get(name))); }
                    }
                    (choice("project", "Project", "All projects", &projects))
                    " "
                    (choice("model", "Model", "All models", &models))
                    " "
                    button type="submit" { "Show" }
                }
            }
        }
    }

    /// Days or weeks, as a chart and as a table.
    fn periods(&self, grouping: Grouping, stats: &Stats) -> Markup {
        let by_key: HashMap<&str, &StatsGroup> =
            stats.groups.iter().filter_map(|group| Some((group.keys.first()?.as_str(), group))).collect();
        let value = |name: String| {
            let value = by_key.get(name.as_str()).map_or(0.0, |group| self.value(group));
            Value { name, value }
        };
        let (step, unit_name) = if grouping == Grouping::Week { (7, "Week") } else { (1, "Day") };
        let days = self.ledger.days(&self.query(&[]));
        let mut is_sparse = false;
        let mut values: Vec<Value> = match days {
            None => Vec::new(),
            Some((first, last)) => {
                let from = self.since.unwrap_or(first).min(first);
                let to = self.until.unwrap_or(last.max(self.today));
                is_sparse = to.saturating_sub(from) > MAX_DAYS;
                if is_sparse {
                    stats.groups.iter().filter_map(|group| group.keys.first().cloned()).map(value).collect()
                } else {
                    let from = if step == 7 { monday(from) } else { from };
                    let days = (0..=(to - from) / step).map(|n| from + n * step);
                    days.filter_map(|day| grouping.period_of_day(day)).map(value).collect()
                }
            }
        };
        let n_cut = values.len().saturating_sub(MAX_VALUES);
        values.drain(..n_cut);
        let title = format!("{} per {}", self.metric, unit_name.to_lowercase());
        html! {
            @if values.is_empty() { p.empty { "There is no usage in this time." } } @else {
                (chart::columns(&title, &values, self.unit))
                @if is_sparse { p.aside { "Times without usage are left out, because the dates are far apart." } }
                @if n_cut > 0 { p.aside { "The chart shows the last " (number_words(MAX_VALUES as u64)) "." } }
                (table(unit_name, stats.groups.iter().rev(), &|key| html! { (Text(key)) }))
            }
        }
    }

    /// The last year, day by day.
    fn calendar(&self) -> Markup {
        let first = monday(self.today) - (WEEKS - 1) * 7;
        let query = LedgerQuery { since: Some(first), until: Some(self.today), ..self.query(&[Grouping::Day]) };
        let stats = self.ledger.stats(&query);
        let by_key: HashMap<&str, &StatsGroup> =
            stats.groups.iter().filter_map(|group| Some((group.keys.first()?.as_str(), group))).collect();
        let names = (first..=self.today).filter_map(|day| Grouping::Day.period_of_day(day));
        let values: Vec<Value> = names
            .map(|name| Value { value: by_key.get(name.as_str()).map_or(0.0, |group| self.value(group)), name })
            .collect();
        html! {
            section aria-labelledby="calendar" {
                h2 #calendar { (self.metric) " in the last year" }
                (chart::calendar(&format!("{} on each day of the last year", self.metric), &values, self.unit))
                p.aside { "A larger square is a higher value." }
                (table("Day", stats.groups.iter().rev(), &|key| html! { (Text(key)) }))
            }
        }
    }

    /// Models or projects, as a chart and as a table.
    fn names(&self, grouping: Grouping) -> Markup {
        let stats = self.ledger.stats(&self.query(&[grouping]));
        let mut groups: Vec<&StatsGroup> = stats.groups.iter().collect();
        groups.sort_by(|one, other| self.value(other).total_cmp(&self.value(one)));
        let is_project = grouping == Grouping::Project;
        let name = |key: &str| if is_project { self.project_name(key) } else { key.to_owned() };
        let values =
            groups.iter().filter_map(|group| Some(Value { name: name(group.keys.first()?), value: self.value(group) }));
        let values: Vec<Value> = values.collect();
        let (title, column) = if is_project { ("project", "Project") } else { ("model", "Model") };
        let link = |key: &str| {
            let choice = if is_project { project_key(key) } else { choice_of(key) };
            html! { a href=(self.form.with(title, &choice).url("/stats")) { (Text(&cut(&name(key)))) } }
        };
        html! {
            @if values.is_empty() { p.empty { "There is no usage in this time." } } @else {
                (chart::bars(&format!("{} by {title}", self.metric), &values, self.unit))
                @if values.len() > MAX_BARS {
                    p.aside { "The chart shows the first " (MAX_BARS) " of " (number_words(values.len() as u64)) "; the table has all." }
                }
                (table(column, groups.iter().copied(), &link))
            }
        }
    }
}

fn totals(total: &Stats) -> Markup {
    html! {
        dl.totals {
            div { dt { "Cost" } dd { (figure(Unit::Dollars, total.total.cost)) } }
            div { dt { "Tokens" } dd { (figure(Unit::Tokens, total.total.tokens.total())) } }
            div { dt { "Sessions" } dd { (figure(Unit::Sessions, float(total.sessions))) } }
            @if total.forks > 0 { div { dt { "Forks among them" } dd { (figure(Unit::Sessions, float(total.forks))) } } }
        }
        @if total.copied > 0 {
            p.aside { (number_words(total.copied)) " entries that forks share with other sessions are counted once." }
        }
        @if !total.unreadable.is_empty() {
            p.aside { (counted(total.unreadable.len(), "session", "sessions")) " could not be read." }
        }
    }
}

fn table<'g>(
    column: &str,
    groups: impl ExactSizeIterator<Item = &'g StatsGroup>,
    cell: &dyn Fn(&str) -> Markup,
) -> Markup {
    let n_left_out = groups.len().saturating_sub(MAX_VALUES);
    html! {
        details.numbers {
            summary { "Table" }
            div.table tabindex="0" role="group" aria-label={ "Table by " (column.to_lowercase()) } {
                table {
                    thead { tr {
                        th scope="col" { (column) }
                        @for name in ["Cost", "Tokens", "Sessions", "Messages"] { th.right scope="col" { (name) } }
                    } }
                    tbody {
                        @for group in groups.take(MAX_VALUES) {
                            @let Tally { cost, tokens, messages, .. } = &group.tally;
                            tr {
                                th scope="row" { (cell(group.keys.first().map(String::as_str).unwrap_or_default())) }
                                td.right { (figure(Unit::Dollars, *cost)) }
                                td.right { (figure(Unit::Tokens, tokens.total())) }
                                td.right { (figure(Unit::Sessions, float(group.sessions.unwrap_or_default()))) }
                                td.right { (number_words(messages.total())) }
                            }
                        }
                    }
                }
            }
            @if n_left_out > 0 { p.aside { (number_words(n_left_out as u64)) " more rows: run sessile stats." } }
        }
    }
}

/// A figure, with its exact value for programs.
fn figure(unit: Unit, value: f64) -> Markup {
    html! { data value={ (format!("{value:?}")) } { (unit.text(value)) } }
}

#[expect(clippy::cast_precision_loss, reason = "a number of sessions")]
fn float(number: usize) -> f64 {
    number as f64
}

/// Names a project in URLs, as the list does.
fn project_key(path: &str) -> String {
    key_of(Path::new(path))
}

/// The Monday of a day's week. The day 0, 1970-01-01, was a Thursday.
fn monday(day: i64) -> i64 {
    day - (day + 3).rem_euclid(7)
}

fn cut(text: &str) -> String {
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(MAX_NAME).collect();
    if chars.next().is_some() { start + "…" } else { start }
}

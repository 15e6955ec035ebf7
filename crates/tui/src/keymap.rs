//! Key bindings as data, used for looking up keys and for the help screen.

use std::collections::HashMap;

use sessile::settings::{Setting, Value};

use crate::key::Key;

/// A context with its own keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum KeyContext {
    Picker,
    Tree,
    Fork,
    Reader,
    /// The list of deleted sessions.
    Trash,
    /// Every line editor.
    LineEditor,
}

macro_rules! actions {
    ($($name:ident $id:literal $keys:tt $contexts:tt $what:literal;)*) => {
        /// An action that a key can trigger.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Action { $($name,)* }

        /// All actions, in the order of the help screen.
        pub(crate) const ACTIONS: &[Definition] = &[
            $(Definition { action: Action::$name, id: $id, keys: &$keys, contexts: &$contexts, what: $what },)*
        ];
    };
}

/// An action with its id, keys and description.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) action: Action,
    pub(crate) id: &'static str,
    /// The default keys.
    pub(crate) keys: &'static [&'static str],
    pub(crate) contexts: &'static [KeyContext],
    pub(crate) what: &'static str,
}

use KeyContext::{Fork, LineEditor, Picker, Reader, Trash, Tree};

// Actions and keys that pi has keep pi's names and keys; ours use Alt where pi has none. Four of pi's keys are not the
// defaults here, and docs/tui.md shows how to set them: Ctrl-N and Ctrl-P move in every list, as in other pickers, and
// capital letters are text wherever the user can type a query.
actions! {
    Up "tui.select.up" ["up", "ctrl+p"] [Picker, Tree, Fork, Trash] "move up";
    Down "tui.select.down" ["down", "ctrl+n"] [Picker, Tree, Fork, Trash] "move down";
    PageUp "tui.select.pageUp" ["pageUp"] [Picker, Tree, Fork, Trash] "move one page up";
    PageDown "tui.select.pageDown" ["pageDown"] [Picker, Tree, Fork, Trash] "move one page down";
    First "app.list.first" ["alt+home"] [Picker, Tree, Fork, Trash] "go to the first row";
    Last "app.list.last" ["alt+end"] [Picker, Tree, Fork, Trash] "go to the last row";
    Confirm "tui.select.confirm" ["enter"] [Picker, Tree, Fork] "confirm the selection";
    Cancel "tui.select.cancel" ["escape", "ctrl+c"] [Picker, Tree, Fork, Reader, Trash] "close the question, the query or the screen";

    ToggleScope "tui.input.tab" ["tab"] [Picker] "this folder or all folders";
    ToggleSort "app.session.toggleSort" ["ctrl+s"] [Picker] "change the sort order";
    ToggleNamed "app.session.toggleNamedFilter" ["alt+n"] [Picker] "only named sessions";
    TogglePath "app.session.togglePath" ["alt+w"] [Picker] "show paths";
    Rename "app.session.rename" ["ctrl+r"] [Picker] "rename";
    Delete "app.session.delete" ["ctrl+d"] [Picker] "move to the trash";
    DeleteNoninvasive "app.session.deleteNoninvasive" ["ctrl+backspace"] [Picker] "move to the trash, if the query is empty";
    TogglePreview "app.session.togglePreview" ["alt+p"] [Picker] "show or hide the preview";
    PreviewUp "app.session.previewUp" ["alt+up"] [Picker] "scroll the preview up";
    PreviewDown "app.session.previewDown" ["alt+down"] [Picker] "scroll the preview down";
    ToggleText "app.session.toggleText" ["alt+t"] [Picker] "search message text too";
    ToggleGroups "app.session.toggleGroups" ["alt+g"] [Picker] "group by repository";
    ToggleChildren "app.session.toggleChildren" ["alt+h"] [Picker] "hide forks";
    ToggleArchived "app.session.toggleArchived" ["shift+alt+z"] [Picker] "only archived sessions, or all others";
    Archive "app.session.archive" ["alt+z"] [Picker] "archive or unarchive";
    TogglePin "app.session.pin" ["alt+i"] [Picker] "pin to the top, or unpin";
    Mark "app.session.mark" ["alt+m"] [Picker] "mark, to act on several sessions";
    MarkAll "app.session.markAll" ["alt+a"] [Picker] "mark all listed sessions, or none";
    Move "app.session.move" ["alt+o"] [Picker] "move to another working directory";
    Export "app.session.export" ["alt+e"] [Picker] "export to a directory";
    OpenTree "app.session.tree" ["ctrl+t"] [Picker] "open its tree";
    OpenReader "app.session.read" ["ctrl+o"] [Picker, Trash] "read it";
    OpenTrash "app.session.trash" ["alt+r"] [Picker] "open the trash: read or restore deleted sessions";

    Restore "app.trash.restore" ["enter"] [Trash] "restore it to its old location";

    TreePageUp "app.tree.pageUp" ["left"] [Tree] "move one page up";
    TreePageDown "app.tree.pageDown" ["right"] [Tree] "move one page down";
    FoldOrUp "app.tree.foldOrUp" ["ctrl+left", "alt+left"] [Tree] "fold, or go up to the start of the branch";
    UnfoldOrDown "app.tree.unfoldOrDown" ["ctrl+right", "alt+right"] [Tree] "unfold, or go down to the next branch";
    Copy "app.message.copy" ["ctrl+x"] [Tree, Reader] "copy the text";
    EditLabel "app.tree.editLabel" ["alt+e"] [Tree] "edit the label";
    ToggleLabelTime "app.tree.toggleLabelTimestamp" ["alt+t"] [Tree] "show when labels were set";
    ArchiveBranch "app.tree.archive" ["alt+z"] [Tree] "archive or unarchive the branch that starts here";
    ShowArchived "app.tree.toggleArchived" ["shift+alt+z"] [Tree] "show archived branches in full";
    FilterDefault "app.tree.filter.default" ["ctrl+d"] [Tree] "filter: messages and tools";
    FilterNoTools "app.tree.filter.noTools" ["ctrl+t"] [Tree] "filter: no tools";
    FilterUserOnly "app.tree.filter.userOnly" ["ctrl+u"] [Tree] "filter: your messages";
    FilterLabeledOnly "app.tree.filter.labeledOnly" ["ctrl+l"] [Tree] "filter: labeled entries";
    FilterAll "app.tree.filter.all" ["ctrl+a"] [Tree] "filter: all entries";
    FilterForward "app.tree.filter.cycleForward" ["ctrl+o"] [Tree] "next filter";
    FilterBackward "app.tree.filter.cycleBackward" ["shift+ctrl+o"] [Tree] "previous filter";
    ToggleContent "app.tree.toggleContent" ["alt+p"] [Tree] "show or hide the entry";
    ContentUp "app.tree.contentUp" ["alt+up"] [Tree] "scroll the entry up";
    ContentDown "app.tree.contentDown" ["alt+down"] [Tree] "scroll the entry down";
    NextLabel "app.tree.nextLabel" ["alt+l"] [Tree] "next label";
    PreviousLabel "app.tree.previousLabel" ["shift+alt+l"] [Tree] "previous label";
    NextBranch "app.tree.nextBranch" ["alt+b"] [Tree] "next branch point";
    PreviousBranch "app.tree.previousBranch" ["shift+alt+b"] [Tree] "previous branch point";
    TreeNextHit "app.tree.nextHit" ["alt+n"] [Tree] "next match of the last search, in all rows";
    TreePreviousHit "app.tree.previousHit" ["shift+alt+n"] [Tree] "previous match of the last search";
    ToLeaf "app.tree.leaf" ["alt+j"] [Tree] "go to the leaf";
    Compare "app.tree.compare" ["alt+v"] [Tree] "compare two branches: press it on one, then on the other";
    ForkHere "app.tree.fork" ["alt+f"] [Tree] "fork here";
    CloneHere "app.tree.clone" ["alt+c"] [Tree] "clone the path to here";
    ToggleCost "app.tree.toggleCost" ["alt+s"] [Tree] "show tokens and cost, up to here and of the branch";
    TreeNextSecret "app.tree.nextSecret" ["alt+k"] [Tree] "look for secrets, and go to the next entry with one";
    TreePreviousSecret "app.tree.previousSecret" ["shift+alt+k"] [Tree] "previous entry with a secret";
    TreePictures "app.tree.pictures" ["alt+i"] [Tree] "show the pictures of the entry";

    Undo "app.undo" ["alt+u"] [Picker, Tree] "undo your last change on this screen";
    Help "app.help" ["f1", "alt+?"] [Picker, Tree, Fork, Reader, Trash] "this help";
    Suspend "app.suspend" ["ctrl+z"] [Picker, Tree, Fork, Reader, Trash] "suspend to the shell";

    ReaderUp "app.reader.up" ["up", "k", "ctrl+p"] [Reader] "scroll one line up";
    ReaderDown "app.reader.down" ["down", "j", "ctrl+n"] [Reader] "scroll one line down";
    ReaderPageUp "app.reader.pageUp" ["pageUp", "b"] [Reader] "scroll one page up";
    ReaderPageDown "app.reader.pageDown" ["pageDown", "space"] [Reader] "scroll one page down";
    ReaderTop "app.reader.top" ["home", "g"] [Reader] "go to the beginning";
    ReaderEnd "app.reader.end" ["end", "shift+g"] [Reader] "go to the end";
    NextPrompt "app.reader.nextPrompt" ["]", "ctrl+down"] [Reader] "your next message";
    PreviousPrompt "app.reader.previousPrompt" ["[", "ctrl+up"] [Reader] "your previous message";
    ToggleTools "app.tools.expand" ["ctrl+o", "o"] [Reader] "show all tool output, or only its start";
    ToggleThinking "app.thinking.toggle" ["ctrl+t", "t"] [Reader] "show thinking";
    Search "app.reader.search" ["/"] [Reader] "search";
    NextHit "app.reader.nextHit" ["n"] [Reader] "next match";
    PreviousHit "app.reader.previousHit" ["shift+n"] [Reader] "previous match";
    NextSecret "app.reader.nextSecret" ["s"] [Reader] "look for secrets, and go to the next entry with one";
    PreviousSecret "app.reader.previousSecret" ["shift+s"] [Reader] "previous entry with a secret";
    Pictures "app.reader.pictures" ["i"] [Reader] "show the pictures of the visible entries";
    Edit "app.editor.external" ["ctrl+g", "e"] [Reader] "open in $EDITOR";
    Follow "app.reader.follow" ["f"] [Reader] "follow new entries";
    Leave "app.reader.leave" ["q"] [Reader] "leave";

    CursorLeft "tui.editor.cursorLeft" ["left", "ctrl+b"] [LineEditor] "one character left";
    CursorRight "tui.editor.cursorRight" ["right", "ctrl+f"] [LineEditor] "one character right";
    WordLeft "tui.editor.cursorWordLeft" ["alt+left", "ctrl+left", "alt+b"] [LineEditor] "one word left";
    WordRight "tui.editor.cursorWordRight" ["alt+right", "ctrl+right", "alt+f"] [LineEditor] "one word right";
    LineStart "tui.editor.cursorLineStart" ["home", "ctrl+a"] [LineEditor] "to the start of the line";
    LineEnd "tui.editor.cursorLineEnd" ["end", "ctrl+e"] [LineEditor] "to the end of the line";
    CharBackward "tui.editor.deleteCharBackward" ["backspace"] [LineEditor] "delete the character before the cursor";
    CharForward "tui.editor.deleteCharForward" ["delete", "ctrl+d"] [LineEditor] "delete the character after the cursor";
    WordBackward "tui.editor.deleteWordBackward" ["ctrl+w", "alt+backspace", "ctrl+backspace"] [LineEditor] "delete the word before the cursor";
    WordForward "tui.editor.deleteWordForward" ["alt+d", "alt+delete"] [LineEditor] "delete the word after the cursor";
    ToLineStart "tui.editor.deleteToLineStart" ["ctrl+u"] [LineEditor] "delete to the start of the line";
    ToLineEnd "tui.editor.deleteToLineEnd" ["ctrl+k"] [LineEditor] "delete to the end of the line";
    Yank "tui.editor.yank" ["ctrl+y"] [LineEditor] "insert the last deleted text";
}

/// The keys in force.
#[derive(Clone, Debug)]
pub(crate) struct Keymap {
    by_key: HashMap<(KeyContext, Key), Action>,
    by_action: HashMap<Action, Vec<Key>>,
}

impl Default for Keymap {
    fn default() -> Self {
        Self::with(&HashMap::new())
    }
}

impl Keymap {
    /// Builds the keymap with the user's keys from `[tui.keys]`; also returns the problems found there.
    pub(crate) fn from_settings<'s>(table: impl Iterator<Item = &'s Setting>) -> (Self, Vec<String>) {
        let mut user_keys: HashMap<&'static str, Vec<Key>> = HashMap::new();
        let mut problems = Vec::new();
        for setting in table {
            let Some(id) = setting.key.strip_prefix("tui.keys.") else { continue };
            let Some(action) = ACTIONS.iter().find(|action| action.id == id) else {
                problems.push(format!("{}: unknown action {id}", setting.origin));
                continue;
            };
            match setting.value.as_ref().and_then(Value::texts).and_then(|names| keys_of(&names)) {
                Some(keys) => drop(user_keys.insert(action.id, keys)),
                None => problems.push(format!(
                    "{}: {} must be a key such as \"ctrl+s\", or a list of keys",
                    setting.origin, setting.key
                )),
            }
        }
        (Self::with(&user_keys), problems)
    }

    fn with(user_keys: &HashMap<&'static str, Vec<Key>>) -> Self {
        let mut keymap = Self { by_key: HashMap::new(), by_action: HashMap::new() };
        for definition in ACTIONS {
            let default_keys = || definition.keys.iter().filter_map(|name| Key::named(name)).collect();
            let keys: Vec<Key> = user_keys.get(definition.id).cloned().unwrap_or_else(default_keys);
            for key in &keys {
                for context in definition.contexts {
                    // Keys chosen by the user win over default keys of other actions.
                    let is_user_key = user_keys.contains_key(definition.id);
                    let slot = keymap.by_key.entry((*context, *key));
                    match slot {
                        std::collections::hash_map::Entry::Occupied(mut slot) if is_user_key => {
                            slot.insert(definition.action);
                        }
                        std::collections::hash_map::Entry::Occupied(_) => {}
                        std::collections::hash_map::Entry::Vacant(slot) => drop(slot.insert(definition.action)),
                    }
                }
            }
            keymap.by_action.insert(definition.action, keys);
        }
        keymap
    }

    /// Returns the action of a key in a context.
    pub(crate) fn action(&self, context: KeyContext, key: Key) -> Option<Action> {
        self.by_key.get(&(context, key)).copied()
    }

    /// Returns the answer that a key gives to a yes/no question; `None` if the key is not an answer.
    pub(crate) fn answer(&self, key: Key) -> Option<bool> {
        let is = |action| self.by_action.get(&action).is_some_and(|keys| keys.contains(&key));
        match key.typed().map(|char| char.to_ascii_lowercase()) {
            Some('y') => Some(true),
            Some('n') => Some(false),
            _ if is(Action::Confirm) => Some(true),
            _ if is(Action::Cancel) => Some(false),
            _ => None,
        }
    }

    /// Returns whether a key accepts (`true`) or cancels (`false`) the prompt for a line; `None` if the key is
    /// typed into the line.
    pub(crate) fn line_answer(&self, key: Key) -> Option<bool> {
        self.answer(key).filter(|_| key.typed().is_none())
    }

    /// Formats a hint: the first key of an action and a description.
    pub(crate) fn hint(&self, action: Action, what: &str) -> String {
        format!("{} {what}", self.key_name(action))
    }

    /// Explains why a key that changes something does nothing while the query is edited.
    pub(crate) fn while_editing(&self, key: Key) -> String {
        let (up, down) = (self.key_name(Action::Up), self.key_name(Action::Down));
        format!("Editing the query: press {up} or {down} first, then {key}")
    }

    /// Returns the first key of an action, as shown to the user.
    pub(crate) fn key_name(&self, action: Action) -> String {
        self.by_action.get(&action).and_then(|keys| keys.first()).map(ToString::to_string).unwrap_or_default()
    }

    /// Returns all keys of an action, as shown to the user.
    pub(crate) fn key_names(&self, action: Action) -> String {
        let keys = self.by_action.get(&action).map(Vec::as_slice).unwrap_or_default();
        keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }
}

fn keys_of(names: &[String]) -> Option<Vec<Key>> {
    names.iter().map(|name| Key::named(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_names_and_are_unique_in_a_context() {
        let mut seen = HashMap::new();
        for definition in ACTIONS {
            for name in definition.keys {
                let key = Key::named(name).unwrap_or_else(|| panic!("{name}"));
                for context in definition.contexts {
                    let other = seen.insert((*context, key), definition.id);
                    assert_eq!(other, None, "{name} in {context:?} has a second action: {}", definition.id);
                }
            }
        }
    }

    /// In these contexts letters, including capitals, go into the query.
    #[test]
    fn character_keys_are_not_commands_where_letters_search() {
        for definition in ACTIONS {
            let is_searched = [Picker, Tree, Trash].iter().any(|context| definition.contexts.contains(context));
            for name in definition.keys.iter().filter(|_| is_searched) {
                assert_eq!(Key::named(name).unwrap().typed(), None, "{name} is {}", definition.id);
            }
        }
    }

    /// docs/tui.md shows how to set pi's keys where the defaults differ.
    #[test]
    fn the_keys_of_pi_can_be_configured() {
        let pis = [
            ("app.session.toggleNamedFilter", "ctrl+n", Picker, Action::ToggleNamed),
            ("app.session.togglePath", "ctrl+p", Picker, Action::TogglePath),
            ("app.tree.editLabel", "shift+l", Tree, Action::EditLabel),
            ("app.tree.toggleLabelTimestamp", "shift+t", Tree, Action::ToggleLabelTime),
        ];
        let user_keys = pis.iter().map(|(id, key, ..)| (*id, vec![Key::named(key).unwrap()])).collect();
        let keymap = Keymap::with(&user_keys);
        for (id, key, context, action) in pis {
            assert_eq!(keymap.action(context, Key::named(key).unwrap()), Some(action), "{id}");
        }
        assert_eq!(keymap.action(Tree, Key::named("ctrl+n").unwrap()), Some(Action::Down));
    }

    #[test]
    fn questions_take_y_and_n() {
        let keymap = Keymap::default();
        for (names, answer) in [
            (&["y", "shift+y", "enter"][..], Some(true)),
            (&["n", "shift+n", "escape", "ctrl+c"], Some(false)),
            (&["x", "alt+y", "ctrl+n", "space", "tab"], None),
        ] {
            for name in names {
                assert_eq!(keymap.answer(Key::named(name).unwrap()), answer, "{name}");
            }
        }
        assert_eq!(keymap.line_answer(Key::named("y").unwrap()), None, "in a line editor, y is a letter");
        assert_eq!(keymap.line_answer(Key::named("escape").unwrap()), Some(false));
    }

    /// The terminal tests press every key and would miss actions without one.
    #[test]
    fn every_action_has_a_key_and_a_context() {
        for definition in ACTIONS {
            assert!(!definition.keys.is_empty() && !definition.contexts.is_empty(), "{}", definition.id);
        }
    }

    #[test]
    fn ids_are_unique() {
        let ids: std::collections::HashSet<_> = ACTIONS.iter().map(|definition| definition.id).collect();
        assert_eq!(ids.len(), ACTIONS.len());
    }
}

# Sessile for fish: put `sessile resume --init fish | source` into ~/.config/fish/config.fish.

function sr --description 'Pick a session and resume it'
    sessile resume $argv
end

# Ctrl-X S: inserts the path of a session at the cursor.
function __sessile_insert
    set -l picked (sessile resume --print --all </dev/tty)
    and commandline --insert -- (string escape -- $picked)
    commandline --function repaint
end
if status is-interactive
    bind \cxs __sessile_insert
end

# Sessile for bash: put `eval "$(sessile resume --init bash)"` into ~/.bashrc.

# Picks a session and resumes it.
sr() {
    sessile resume "$@"
}

# Ctrl-X S: inserts the path of a session at the cursor.
__sessile_insert() {
    local path
    path=$(sessile resume --print --all </dev/tty) || return 0
    printf -v path '%q' "$path"
    READLINE_LINE=${READLINE_LINE:0:READLINE_POINT}$path${READLINE_LINE:READLINE_POINT}
    READLINE_POINT=$((READLINE_POINT + ${#path}))
}
if [[ $- == *i* ]]; then
    bind -x '"\C-xs": __sessile_insert'
fi

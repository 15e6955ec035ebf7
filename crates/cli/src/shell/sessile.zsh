# Sessile for zsh: put `eval "$(sessile resume --init zsh)"` into ~/.zshrc.

# Picks a session and resumes it.
sr() {
    sessile resume "$@"
}

# Ctrl-X S: inserts the path of a session at the cursor.
__sessile_insert() {
    local picked
    picked=$(sessile resume --print --all </dev/tty)
    local ended=$?
    zle reset-prompt
    if (( ended == 0 )); then
        LBUFFER+=${(q)picked}
    fi
}
if [[ -o interactive ]]; then
    zle -N __sessile_insert
    bindkey '^Xs' __sessile_insert
fi

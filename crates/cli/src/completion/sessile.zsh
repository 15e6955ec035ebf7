#compdef sessile
# Completion of sessile for zsh: source this file, or put it into a directory of $fpath as _sessile.
_sessile() {
    local -a answers values shown
    local answer
    answers=("${(@f)$(${(Q)words[1]} __complete --shell zsh -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    case "$answers[1]" in
        :files) _files ;;
        :dirs) _files -/ ;;
        :words)
            for answer in "${(@)answers[2,-1]}"; do
                [[ -n "$answer" ]] || continue
                values+=("${answer%%$'\t'*}")
                shown+=("${answer/$'\t'/  }")
            done
            compadd -l -d shown -a values
            ;;
    esac
}
if [[ "${funcstack[1]}" == _sessile ]]; then
    _sessile "$@"
else
    compdef _sessile sessile
fi

# Completion of sessile for bash: source this file, or put it where bash-completion looks.
_sessile() {
    local -a answers
    # Names of sessions come from files: they are only ever handed on, never evaluated.
    mapfile -t answers < <("${COMP_WORDS[0]}" __complete --shell bash --breaks "$COMP_WORDBREAKS" \
        --line "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    COMPREPLY=()
    case "${answers[0]-}" in
        :files) compopt -o default ;;
        :dirs) compopt -o dirnames ;;
        :words) COMPREPLY=("${answers[@]:1}") ;;
    esac
}
complete -F _sessile sessile

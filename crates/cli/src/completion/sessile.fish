# Completion of sessile for fish: source this file, or put it into ~/.config/fish/completions.
function __sessile_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l answers (command $words[1] __complete --shell fish -- $words[2..-1] 2>/dev/null)
    switch "$answers[1]"
        case :files
            __fish_complete_path (commandline -ct)
        case :dirs
            __fish_complete_directories (commandline -ct)
        case :words
            if set -q answers[2]
                printf '%s\n' $answers[2..-1]
            end
    end
end
complete -c sessile -f -a '(__sessile_complete)'

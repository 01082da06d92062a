# Prints what zsh would suggest for command lines of gdn: zsh -f capture.zsh <completion file> <folder> <line>…
# An interactive zsh on a pseudo-terminal gets each line and a Tab. It prints the completions, then END.
zmodload zsh/zpty
file=$1 folder=$2
shift 2
zpty z zsh -f -i
setup=$folder/setup.zsh
cat >$setup <<'SETUP'
PROMPT= PROMPT2= RPROMPT=
unsetopt beep prompt_cr prompt_sp
zle_bracketed_paste=()
autoload -Uz compinit
compinit -u -d $FOLDER/dump
source $FILE
bindkey '^I' complete-word
# Shows and inserts nothing itself: the line stays as it was typed.
at_end() {
  compstate[list]='' compstate[insert]=''
  comppostfuncs=(at_end)
  print -r - E''ND
}
comppostfuncs=(at_end)
compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
    builtin compadd "$@"
    return
  fi
  typeset -a hits shown
  integer at=${@[(I)-d]}
  if (( at )); then
    local list=${@[at+1]}
    if [[ $list == \(* ]]; then shown=(${(Q)${(z)list[2,-2]}}); else shown=("${(@P)list}"); fi
  fi
  builtin compadd -A hits -D shown "$@"
  local i
  for (( i = 1; i <= $#hits; i++ )); do
    print -r - "HIT ${(qqqq)hits[i]} ${(qqqq)shown[i]}"
  done
  builtin compadd "$@"
}
print -r - REA''DY
SETUP
zpty -w z "FILE=${(q)file} FOLDER=${(q)folder}; source ${(q)setup}"
until_shown() {
  integer tries=0
  local chunk
  text=
  until [[ $text == *$1* || $tries -gt 1000 ]]; do
    zpty -r -t z chunk && text+=$chunk || { (( tries++ )); sleep 0.01 }
  done
}
until_shown READY
for line in "$@"; do
  zpty -n -w z $'\x15'$line$'\t'
  until_shown END
  print -r - $text
done
zpty -d z

#compdef gdn
# Completions of gdn for zsh. Generated from the command tree by src/build/completions.mjs.
# Values come from tables, or from gdn, which sanitizes them. Typed text and values are never run or expanded.

# TABLES

# Sets $reply to the flags of a command, one per element; for "gdn", to the flags that may precede a command.
__gdn_flags_of() {
  local REPLY bundle
  reply=()
  __gdn_bundles $1
  for bundle in ${=REPLY:-$1}; do
    __gdn_flags $bundle
    reply+=("${(f)REPLY}")
  done
}

# Sets $REPLY to the kind of value that the flag $1 takes, according to $flags; empty for an unknown flag.
__gdn_takes() {
  local line
  local -a part
  for line in $flags; do
    part=(${=line})
    if [[ $1 == $part[1] || $1 == $part[2] ]]; then
      REPLY=${part[3]%+}
      return
    fi
  done
  REPLY=''
}

# Offers values with their descriptions, one per line.
__gdn_offer() {
  local line value
  local -a found
  for line in "${(f)1}"; do
    value=${line%%[[:blank:]]*}
    if [[ -z $value ]]; then continue; fi
    found+=("${value//:/\\:}:${${line#$value}##[[:blank:]]#}")
  done
  _describe -t values $2 found
}

__gdn_offer_flags() {
  local line
  local -a part found
  for line in $flags; do
    part=(${=line})
    if [[ $part[2] == '~' || ( $part[3] != *+ && -n ${before[(re)$part[1]]} ) ]]; then continue; fi
    found+=("$part[1]:${(j: :)part[4,-1]}")
    if [[ $part[2] != - ]]; then found+=("$part[2]:${(j: :)part[4,-1]}"); fi
  done
  _describe -t flags flag found
}

# Offers the values of a kind.
__gdn_offer_kind() {
  local REPLY
  case $1 in
    '@'*) __gdn_offer "$(command gdn __complete ${1#@} $before 2>/dev/null)" ${1#@} ;;
    '='*)
      __gdn_values ${1#=}
      __gdn_offer $REPLY ${1#=}
      ;;
    ','*)
      compset -P '*,'
      __gdn_values ${1#,}
      __gdn_offer $REPLY ${1#,}
      ;;
    file) _files ;;
    dir) _files -/ ;;
    pairfile) compset -P '*=' && _files ;;
    *) return 1 ;;
  esac
}

_gdn() {
  emulate -L zsh
  setopt extended_glob
  local REPLY word kind wants ended cmd
  local -i place=0 i=1
  local -a reply flags before
  before=("${(@Q)words[2,CURRENT-1]}")
  __gdn_flags_of gdn
  flags=("$reply[@]")

  for word in "$before[@]"; do
    i+=1
    if [[ -n $wants ]]; then
      wants=''
    elif [[ -n $ended ]]; then
      place+=1
    elif [[ $word == -- ]]; then
      ended=$i
    elif [[ $word == -*=* ]]; then
      continue
    elif [[ $word == -?* ]]; then
      __gdn_takes $word
      if [[ $REPLY != - ]]; then wants=$REPLY; fi
    elif [[ $cmd == help* ]]; then
      cmd+=" $word"
    else
      __gdn_bundles "${cmd:+$cmd }$word"
      if [[ -n $REPLY && $cmd != *' '* ]]; then
        cmd="${cmd:+$cmd }$word"
        __gdn_flags_of $cmd
        flags=("$reply[@]")
      elif [[ -z $cmd ]]; then
        cmd=$word
        if [[ $cmd == help ]]; then
          __gdn_flags_of help
          flags=("$reply[@]")
        fi
      else
        place+=1
      fi
    fi
  done

  __gdn_arguments "$cmd"
  for word in ${=REPLY}; do
    kind=$word
    if (( place == 0 )) || [[ $word == *+ ]]; then break; fi
    place+=-1
    kind=''
  done
  kind=${kind%+}
  word=${(Q)words[CURRENT]}

  if [[ -n $wants ]]; then
    __gdn_offer_kind $wants
  elif [[ -n $ended && $kind == command ]]; then
    shift $ended words
    (( CURRENT -= ended ))
    _normal
  elif [[ -n $ended ]]; then
    __gdn_offer_kind $kind
  elif [[ $word == --*=* ]]; then
    __gdn_takes ${word%%=*}
    compset -P '--[^=]#='
    __gdn_offer_kind $REPLY
  elif [[ $word == -* ]]; then
    __gdn_offer_flags
  else
    __gdn_words "$cmd"
    if [[ $cmd == 'help '* ]]; then __gdn_words "${cmd#help }"; fi
    if [[ -n $REPLY ]]; then
      __gdn_offer $REPLY command
    elif [[ -z $kind || $kind == (text|command) ]]; then
      __gdn_offer_flags
    else
      __gdn_offer_kind $kind
    fi
  fi
}

# In a folder of fpath, zsh loads this file for the first completion. With `source`, it only registers the function.
if [[ $funcstack[1] == _gdn ]]; then
  _gdn "$@"
else
  compdef _gdn gdn
fi

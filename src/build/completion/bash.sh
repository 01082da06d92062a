# Completions of gdn for bash 3.2 and later. Generated from the command tree by src/build/completions.mjs.
# Values come from tables, or from gdn, which sanitizes them. Typed text and values are never run or expanded.

# TABLES

# Sets REPLY to the flags of a command, one per line; for "gdn", to the flags that may precede a command.
__gdn_flags_of() {
  local bundle lines=''
  __gdn_bundles "$1"
  for bundle in ${REPLY:-$1}; do
    __gdn_flags "$bundle"
    lines+=$REPLY$'\n'
  done
  REPLY=$lines
}

# Sets REPLY to the kind of value that the flag $2 takes, according to the flags in $1; empty for an unknown flag.
__gdn_takes() {
  local name short takes rest
  while read -r name short takes rest; do
    if [[ $2 == "$name" || $2 == "$short" ]]; then
      REPLY=${takes%+}
      return
    fi
  done <<<"$1"
  REPLY=''
}

# Offers the value $1 with the description $2 if the value begins with the typed text.
__gdn_offer() {
  [[ $1 == "$__gdn_typed"* ]] || return
  __gdn_values_found+=("$1")
  __gdn_whats_found+=("$2")
}

__gdn_offer_lines() {
  local value what
  while read -r value what; do
    if [[ -n $value ]]; then __gdn_offer "$__gdn_before$value" "$what"; fi
  done <<<"$1"
}

__gdn_offer_flags() {
  local name short takes what
  while read -r name short takes what; do
    [[ -z $name || $short == '~' ]] && continue
    if [[ $takes != *+ && " ${__gdn_line[*]-} " == *" $name "* ]]; then continue; fi
    __gdn_offer "$name" "$what"
    if [[ $short != - ]]; then __gdn_offer "$short" "$what"; fi
  done <<<"$1"
}

__gdn_offer_paths() {
  if type compopt >/dev/null 2>&1; then
    compopt -o "$1" 2>/dev/null
    return
  fi
  local path action=-f
  if [[ $1 == dirnames ]]; then action=-d; fi
  while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen "$action" -- "${__gdn_typed#"$__gdn_before"}")
}

# Offers the values of a kind. $__gdn_before is the part of the word before the value, such as --file=.
__gdn_offer_kind() {
  case $1 in
    @*)
      __gdn_offer_lines "$(command gdn __complete "${1#@}" ${__gdn_line[@]+"${__gdn_line[@]}"} 2>/dev/null | tr '\t' ' ')"
      ;;
    =*)
      __gdn_values "${1#=}"
      __gdn_offer_lines "$REPLY"
      ;;
    ,*)
      local own=${__gdn_typed#"$__gdn_before"}
      if [[ $own == *,* ]]; then __gdn_before+=${own%,*},; fi
      __gdn_values "${1#,}"
      __gdn_offer_lines "$REPLY"
      ;;
    file) __gdn_offer_paths default ;;
    dir) __gdn_offer_paths dirnames ;;
    pairfile)
      if [[ $__gdn_typed == *=* ]]; then __gdn_offer_paths default; fi
      ;;
  esac
}

_gdn() {
  local IFS=$' \t\n' REPLY word flags last kind path='' wants='' ended='' place=0 i
  local __gdn_typed='' __gdn_before=''
  local -a __gdn_line __gdn_values_found __gdn_whats_found
  COMPREPLY=()

  # bash also splits words at =, : and @. Parts without a space between them are joined again.
  local rest=$COMP_LINE gap
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    gap=${rest%%[![:space:]]*}
    rest=${rest#"$gap"}
    rest=${rest#"$word"}
    last=${#__gdn_line[@]}
    if [[ $i -eq 0 ]]; then
      continue
    elif [[ $last -gt 0 && ! $gap ]]; then
      __gdn_line[last - 1]+=$word
    else
      __gdn_line+=("$word")
    fi
  done
  last=$((${#__gdn_line[@]} - 1))
  __gdn_typed=${__gdn_line[last]}
  unset '__gdn_line[last]'

  __gdn_flags_of gdn
  flags=$REPLY
  for ((i = 0; i < last; i++)); do
    word=${__gdn_line[i]}
    if [[ $wants ]]; then
      wants=''
    elif [[ $ended ]]; then
      place=$((place + 1))
    elif [[ $word == -- ]]; then
      ended=$((i + 1))
    elif [[ $word == -*=* ]]; then
      continue
    elif [[ $word == -* && $word != - ]]; then
      __gdn_takes "$flags" "$word"
      if [[ $REPLY != - ]]; then wants=$REPLY; fi
    elif [[ $path == help* ]]; then
      path+=" $word"
    else
      __gdn_bundles "${path:+$path }$word"
      if [[ $REPLY && $path != *' '* ]]; then
        path=${path:+$path }$word
        __gdn_flags_of "$path"
        flags=$REPLY
      elif [[ -z $path ]]; then
        path=$word
        if [[ $path == help ]]; then
          __gdn_flags_of help
          flags=$REPLY
        fi
      else
        place=$((place + 1))
      fi
    fi
  done

  __gdn_arguments "$path"
  kind=''
  for word in $REPLY; do
    kind=$word
    if [[ $place -eq 0 || $word == *+ ]]; then break; fi
    place=$((place - 1))
    kind=''
  done
  kind=${kind%+}

  if [[ $wants ]]; then
    __gdn_offer_kind "$wants"
  elif [[ $ended ]]; then
    if [[ $kind == command ]]; then
      if [[ $last -eq $ended ]]; then
        __gdn_offer_lines "$(compgen -c -- "$__gdn_typed")"
      else
        __gdn_offer_paths default
      fi
    else
      __gdn_offer_kind "$kind"
    fi
  elif [[ $__gdn_typed == --*=* ]]; then
    __gdn_takes "$flags" "${__gdn_typed%%=*}"
    __gdn_before=${__gdn_typed%%=*}=
    __gdn_offer_kind "$REPLY"
  elif [[ $__gdn_typed == -* ]]; then
    __gdn_offer_flags "$flags"
  else
    __gdn_words "$path"
    if [[ $path == 'help '* ]]; then __gdn_words "${path#help }"; fi
    __gdn_offer_lines "$REPLY"
    if [[ $kind != command ]]; then __gdn_offer_kind "$kind"; fi
    if [[ ${#__gdn_values_found[@]} -eq 0 && ($kind == '' || $kind == text) ]]; then __gdn_offer_flags "$flags"; fi
  fi

  # bash replaces only the text after the last = or :, so values don't repeat the text before. They repeat a leading @.
  local skip=${__gdn_typed%"${__gdn_typed##*[=:]}"}
  if [[ $skip && $COMP_WORDBREAKS != *"${skip: -1}"* ]]; then skip=''; fi
  local value what width=0 shown
  for value in ${__gdn_values_found[@]+"${__gdn_values_found[@]}"}; do
    if [[ ${#value} -gt $width ]]; then width=${#value}; fi
  done
  for ((i = 0; i < ${#__gdn_values_found[@]}; i++)); do
    value=${__gdn_values_found[i]#"$skip"}
    what=${__gdn_whats_found[i]}
    # Descriptions are added only if bash shows a list and inserts nothing.
    if [[ ${COMP_TYPE-} == 63 && $what && ${#__gdn_values_found[@]} -gt 1 ]]; then
      printf -v shown '%-*s  %s' "$width" "$value" "$what"
      COMPREPLY+=("${shown:0:${COLUMNS:-80}-1}")
    else
      COMPREPLY+=("$value")
    fi
  done
}

complete -F _gdn gdn

# Completions of gdn for fish 3 and later. Generated from the command tree by src/build/completions.mjs.
# Values come from tables, or from gdn, which sanitizes them. Typed text and values are never run or expanded.

# TABLES

# Prints the flags of a command, one per line; for "gdn", the flags that may precede a command.
function __gdn_flags_of
  set -l bundles (__gdn_bundles $argv[1] | string split -n ' ')
  test (count $bundles) -gt 0; or set bundles $argv[1]
  for bundle in $bundles
    __gdn_flags $bundle
  end
end

# Prints the kind of value that the flag $argv[1] takes, according to the flags after it; nothing for an unknown flag.
function __gdn_takes
  for line in $argv[2..]
    set -l part (string split -m 3 ' ' -- $line)
    if contains -- $argv[1] $part[1..2]
      string replace -r '\+$' '' -- $part[3]
      return
    end
  end
end

# Prints values and descriptions in the format of fish, with the part of the word before the value.
function __gdn_offer -a before
  for line in $argv[2..]
    set -l part (string split -m 1 -- ' ' $line)
    printf '%s%s\t%s\n' $before $part[1] "$part[2]"
  end
end

# Prints the values of a kind. Arguments: the kind, the part of the word before the value, the typed part of the value,
# and the words of the line.
function __gdn_offer_kind -a kind before typed
  switch "$kind"
    case '@*'
      set -l found (command gdn __complete (string sub -s 2 -- $kind) $argv[4..] 2>/dev/null)
      for line in $found
        printf '%s%s\n' $before $line
      end
    case '=*'
      __gdn_offer "$before" (__gdn_values (string sub -s 2 -- $kind))
    case ',*'
      set -l earlier (string match -r '^.*,' -- "$typed")
      __gdn_offer "$before$earlier" (__gdn_values (string sub -s 2 -- $kind))
    case file
      __gdn_offer_paths "$before" (__fish_complete_path "$typed")
    case dir
      __gdn_offer_paths "$before" (__fish_complete_directories "$typed" '')
    case pairfile
      set -l pair (string match -r '^([^=]+=)(.*)$' -- "$typed")
      and __gdn_offer_paths "$before$pair[2]" (__fish_complete_path "$pair[3]")
  end
end

function __gdn_offer_paths -a before
  for path in $argv[2..]
    printf '%s%s\n' "$before" $path
  end
end

function __gdn_offer_flags
  set -l given (commandline -opc)
  for line in $argv
    set -l part (string split -m 3 ' ' -- $line)
    test "$part[2]" = '~'; and continue
    string match -q '*+' -- $part[3]; or not contains -- $part[1] $given; or continue
    printf '%s\t%s\n' $part[1] "$part[4]"
    test "$part[2]" = -; or printf '%s\t%s\n' $part[2] "$part[4]"
  end
end

function __gdn_complete
  set -l before (commandline -opc)[2..]
  set -l typed (commandline -ct)
  set -l flags (__gdn_flags_of gdn)
  set -l cmd
  set -l wants ''
  set -l ended 0
  set -l place 0
  set -l i 0
  for word in $before
    set i (math $i + 1)
    if test -n "$wants"
      set wants ''
    else if test $ended -gt 0
      set place (math $place + 1)
    else if test "$word" = --
      set ended $i
    else if string match -q -- '-*=*' "$word"
      continue
    else if string match -q -- '-?*' "$word"
      set wants (__gdn_takes $word $flags)
      test "$wants" = -; and set wants ''
    else if test "$cmd[1]" = help
      set -a cmd $word
    else if test (count $cmd) -lt 2; and test -n (__gdn_bundles (string join ' ' -- $cmd $word) | string collect)
      set -a cmd $word
      set flags (__gdn_flags_of (string join ' ' -- $cmd))
    else if test (count $cmd) -eq 0
      set cmd $word
      test "$cmd" = help; and set flags (__gdn_flags_of help)
    else
      set place (math $place + 1)
    end
  end

  set -l kind ''
  for one in (__gdn_arguments (string join ' ' -- $cmd) | string split -n ' ')
    set kind $one
    test $place -eq 0; or string match -q '*+' -- $one; and break
    set place (math $place - 1)
    set kind ''
  end
  set kind (string replace -r '\+$' '' -- $kind)

  if test -n "$wants"
    __gdn_offer_kind $wants '' "$typed" $before
  else if test $ended -gt 0
    if test "$kind" = command
      complete -C (string join ' ' -- (string escape -- $before[(math $ended + 1)..]) "$typed" | string collect)
    else
      __gdn_offer_kind "$kind" '' "$typed" $before
    end
  else if string match -q -- '--*=*' "$typed"
    set -l pair (string match -r '^(--[^=]+)=(.*)$' -- "$typed")
    set wants (__gdn_takes $pair[2] $flags)
    __gdn_offer_kind "$wants" "$pair[2]=" "$pair[3]" $before
  else if string match -q -- '-*' "$typed"
    __gdn_offer_flags $flags
  else
    set -l words (__gdn_words (string join ' ' -- $cmd))
    if test "$cmd[1]" = help; and test (count $cmd) -gt 1
      set words (__gdn_words (string join ' ' -- $cmd[2..]))
    end
    if test (count $words) -gt 0
      __gdn_offer '' $words
    else if contains -- "$kind" '' text command
      __gdn_offer_flags $flags
    else
      __gdn_offer_kind $kind '' "$typed" $before
    end
  end
end

complete -c gdn -f -k -a '(__gdn_complete)'

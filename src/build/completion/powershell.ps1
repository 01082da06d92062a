# Completions of gdn for PowerShell 5.1 and later. Generated from the command tree by src/build/completions.mjs.
# Values come from tables, or from gdn, which sanitizes them. Typed text and values are never run or expanded.

Register-ArgumentCompleter -Native -CommandName gdn -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)

# TABLES

  # Returns the flags of a command; for 'gdn', the flags that may precede a command. Each flag has a name, a short form,
  # the kind of its value, and a summary.
  function Get-Flags([string]$name) {
    $ids = if ($bundles.ContainsKey($name)) { $bundles[$name] -split ' ' } else { @($name) }
    foreach ($id in $ids) {
      foreach ($line in ($flags[$id] -split "`n")) { , ($line -split ' ', 4) }
    }
  }

  function Get-Takes([string]$name, $rows) {
    foreach ($row in $rows) {
      if ($row[0] -ceq $name -or $row[1] -ceq $name) { return $row[2].TrimEnd('+') }
    }
    return ''
  }

  function New-Result([string]$value, [string]$shown, [string]$what) {
    $tip = if ($what) { $what } else { $shown }
    # Without quotes, PowerShell would replace @name with the items of a variable.
    if ($value.StartsWith('@')) { $value = "'$value'" }
    [System.Management.Automation.CompletionResult]::new($value, $shown, 'ParameterValue', $tip)
  }

  # Returns the values that begin with the typed text, with descriptions. $before is the part of the word before them.
  function Get-Values($lines, [string]$separator, [string]$before, [string]$typed) {
    foreach ($line in $lines) {
      $value, $what = $line -split $separator, 2
      if ($value -and $value.StartsWith($typed, [System.StringComparison]::OrdinalIgnoreCase)) {
        New-Result ($before + $value) $value $what
      }
    }
  }

  # Returns the values of a kind. Returns nothing for paths, because PowerShell completes them itself.
  function Get-Kind([string]$kind, [string]$before, [string]$typed, $words) {
    if (-not $kind) { return }
    $id = $kind.Substring(1)
    switch ($kind[0]) {
      '@' {
        $gdn = Get-Command gdn -CommandType @('Application', 'ExternalScript') -ErrorAction SilentlyContinue | Select-Object -First 1
        if ($gdn) { Get-Values @(& $gdn __complete $id @words 2>$null) "`t" $before $typed }
      }
      '=' { Get-Values ($values[$id] -split "`n") ' ' $before $typed }
      ',' {
        $end = $typed.LastIndexOf(',') + 1
        Get-Values ($values[$id] -split "`n") ' ' ($before + $typed.Substring(0, $end)) $typed.Substring($end)
      }
    }
  }

  function Get-FlagResults($rows, [string]$typed, $line) {
    foreach ($row in $rows) {
      $name, $short, $takes, $what = $row
      if ($short -eq '~' -or (-not $takes.EndsWith('+') -and $line -ccontains $name)) { continue }
      foreach ($form in @($name, $short)) {
        if ($form -ne '-' -and $form.StartsWith($typed, [System.StringComparison]::Ordinal)) { New-Result $form $form $what }
      }
    }
  }

  $line = @($commandAst.CommandElements | Select-Object -Skip 1 |
      Where-Object { $_.Extent.EndOffset -lt $cursorPosition -or ($_.Extent.EndOffset -eq $cursorPosition -and -not $wordToComplete) } |
      ForEach-Object { if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text } })
  $known = @(Get-Flags 'gdn')
  $path = ''
  $wants = ''
  $ended = $false
  $place = 0
  foreach ($word in $line) {
    if ($wants) { $wants = '' }
    elseif ($ended) { $place++ }
    elseif ($word -eq '--') { $ended = $true }
    elseif ($word -like '-*=*') { continue }
    elseif ($word -like '-?*') {
      $wants = Get-Takes $word $known
      if ($wants -eq '-') { $wants = '' }
    }
    elseif ($path -eq 'help' -or $path -like 'help *') { $path += " $word" }
    else {
      $longer = "$path $word".Trim()
      if ($bundles.ContainsKey($longer) -and -not $path.Contains(' ')) {
        $path = $longer
        $known = @(Get-Flags $path)
      }
      elseif (-not $path) {
        $path = $word
        if ($path -eq 'help') { $known = @(Get-Flags 'help') }
      }
      else { $place++ }
    }
  }

  $kind = ''
  if ($arguments.ContainsKey($path)) {
    foreach ($one in ($arguments[$path] -split ' ')) {
      $kind = $one
      if ($place -eq 0 -or $one.EndsWith('+')) { break }
      $place--
      $kind = ''
    }
  }
  $kind = $kind.TrimEnd('+')

  if ($wants) { Get-Kind $wants '' $wordToComplete $line }
  elseif ($ended) { if ($kind -ne 'command') { Get-Kind $kind '' $wordToComplete $line } }
  elseif ($wordToComplete -like '--*=*') {
    $name, $typed = $wordToComplete -split '=', 2
    Get-Kind (Get-Takes $name $known) "$name=" $typed $line
  }
  elseif ($wordToComplete -like '-*') { Get-FlagResults $known $wordToComplete $line }
  else {
    $page = if ($path -like 'help *') { $path.Substring(5) } else { $path }
    if ($words.ContainsKey($page)) { Get-Values ($words[$page] -split "`n") ' ' '' $wordToComplete }
    elseif ($kind -in '', 'text', 'command') { if (-not $wordToComplete) { Get-FlagResults $known '' $line } }
    else { Get-Kind $kind '' $wordToComplete $line }
  }
}

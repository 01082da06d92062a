import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

/** A suggestion of a shell for the last word: a value, and its description. */
export interface Offer {
  value: string
  what: string
}

export interface Surroundings {
  /** The folder with the files of completions/. */
  folder: string
  env?: NodeJS.ProcessEnv
  cwd?: string
}

export interface RealShell {
  name: string
  isThere: boolean
  /** The suggestions of the shell itself for each line up to the cursor. */
  offers(lines: readonly string[], surroundings: Surroundings): Promise<Offer[][]>
}

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const isThere = (name: string) => spawnSync(name, ['--version']).error === undefined

async function start(file: string, args: string[], { env, cwd }: Surroundings): Promise<string> {
  const base = { PATH: process.env.PATH, HOME: '/nonexistent', TERM: 'xterm', LC_ALL: 'C.UTF-8' }
  const { stdout, stderr } = await execa(file, args, {
    env: { ...base, ...env },
    extendEnv: false,
    ...(cwd === undefined ? {} : { cwd }),
    stdin: 'ignore',
  })
  // fish reports a home that it can't write to. Any other output is an error in the completions.
  if (stderr !== '' && file !== 'fish') throw new Error(`${file} said: ${stderr}`)
  return stdout
}

/** Splits into words as bash does, also at =, : and @. */
function bashWords(line: string): string[] {
  return line.split(' ').flatMap((word) => (word === '' ? [''] : (word.match(/[=:@]+|[^=:@]+/g) ?? [])))
}

const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`

const bash: RealShell = {
  name: 'bash',
  isThere: isThere('bash'),
  async offers(lines, surroundings) {
    const script = [
      `source ${quoted(join(surroundings.folder, 'gdn.bash'))}`,
      'COLUMNS=400',
      // `compopt` fails outside of readline. The stub records its argument, and bash computes the suggestions itself.
      'compopt() { action=$2; }',
      ...lines.flatMap((line) => {
        const words = bashWords(line)
        return [
          `COMP_LINE=${quoted(line)} COMP_WORDS=(${words.map(quoted).join(' ')}) COMP_CWORD=${words.length - 1} COMP_TYPE=63 action=`,
          '_gdn',
          `if [[ $action ]]; then while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen -o "$action" -- ${quoted(words.at(-1)?.replace(/^[=:@]+$/, '') ?? '')}); fi`,
          `printf '%s\\n' "\${COMPREPLY[@]}" "--end"`,
        ]
      }),
    ].join('\n')
    const stdout = await start('bash', ['--norc', '-c', script], surroundings)
    return inParts(stdout).map((part) => part.map(split(/ {2,}/)))
  },
}

const fish: RealShell = {
  name: 'fish',
  isThere: isThere('fish'),
  async offers(lines, surroundings) {
    const script = [
      `source ${quoted(join(surroundings.folder, 'gdn.fish'))}`,
      ...lines.flatMap((line) => [`complete -C ${quoted(line)}`, 'echo --end']),
    ].join('\n')
    const stdout = await start('fish', ['--no-config', '-c', script], surroundings)
    // If no value begins with the typed text, fish also suggests values that contain its letters.
    const begun = (line: string) => line.slice(line.lastIndexOf(' ') + 1)
    return inParts(stdout).map((part, i) =>
      part.map(split(/\t/)).filter(({ value }) => value.startsWith(begun(lines[i] ?? ''))),
    )
  },
}

const zsh: RealShell = {
  name: 'zsh',
  isThere: isThere('zsh'),
  async offers(lines, surroundings) {
    const dump = await mkdtemp(join(tmpdir(), 'gdn-zsh-'))
    try {
      const args = ['-f', here('capture.zsh'), join(surroundings.folder, '_gdn'), dump, ...lines]
      const parts = (await start('zsh', args, surroundings)).split('END').slice(0, -1)
      if (parts.length !== lines.length) throw new Error(`zsh said: ${parts.join('')}`)
      return parts.map((part) =>
        [...part.matchAll(/HIT \$'(.*?)' \$'(.*?)'\r?$/gm)].map(([, value = '', shown = '']) => ({
          value,
          what: shown.replace(/^.*? +-- /, ''),
        })),
      )
    } finally {
      await rm(dump, { recursive: true, force: true })
    }
  },
}

const POWERSHELL = `
param($script, $list)
. $script
foreach ($line in (Get-Content $list)) {
  $found = [System.Management.Automation.CommandCompletion]::CompleteInput($line, $line.Length, $null).CompletionMatches
  foreach ($one in $found) { Write-Output ($one.CompletionText + [char]9 + $one.ToolTip) }
  Write-Output '--end'
}`

const powershell: RealShell = {
  name: 'PowerShell',
  isThere: isThere('pwsh'),
  async offers(lines, surroundings) {
    const folder = await mkdtemp(join(tmpdir(), 'gdn-pwsh-'))
    try {
      await writeFile(join(folder, 'offers.ps1'), POWERSHELL)
      await writeFile(join(folder, 'lines'), lines.map((line) => `${line}\n`).join(''))
      const script = join(surroundings.folder, 'gdn.ps1')
      const args = ['-NoProfile', '-File', join(folder, 'offers.ps1'), script, join(folder, 'lines')]
      const stdout = await start('pwsh', args, surroundings)
      return inParts(stdout).map((part) => part.map(split(/\t/)))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
}

export const SHELLS: readonly RealShell[] = [bash, zsh, fish, powershell]

function inParts(stdout: string): string[][] {
  const parts = stdout.split(/^--end$/m).map((part) => part.split('\n').filter((line) => line !== ''))
  return parts.slice(0, -1)
}

const split =
  (at: RegExp) =>
  (line: string): Offer => {
    const [value = '', ...what] = line.split(at)
    return { value, what: what.join(' ') }
  }

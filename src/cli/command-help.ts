import type { ColourLevel } from './colour.ts'
import type { GdnCommand } from './command.ts'
import { headingStyle } from './help.ts'
import { proseWidth, twoColumns, wrap } from './wrap.ts'

const EXIT_NOTE =
  'Exit codes: 0 done, 2 wrong input, 3 not confirmed, 4 key, 5 refused, 6 unreachable, 7 failed rows, 8 still pending, 9 outcome unknown.'

/** `gdn nft mint --help`: examples first, then usage, flags by group, and what the exit code tells. */
export async function commandHelp(
  command: GdnCommand,
  columns: number | undefined,
  level: ColourLevel,
): Promise<string> {
  const heading = await headingStyle(level)
  const width = proseWidth(columns)
  const { summary, about, examples } = command.text
  const lines = [...wrap(`${summary}.`, width)]
  if (about !== undefined) lines.push('', ...about.split('\n').flatMap((part) => wrap(part, width)))
  lines.push('', heading('Examples'))
  for (const [does, ...typed] of examples) {
    lines.push(`  # ${does}`, ...typed.map((line, i) => `  ${isContinued(typed[i - 1]) ? '  ' : '$ '}${line}`), '')
  }
  lines.push(heading('Usage'), `  ${usage(command)}`)
  for (const [title, rows] of optionGroups(command)) lines.push('', heading(title), ...twoColumns(rows, width))
  lines.push('', ...wrap(EXIT_NOTE, width), '')
  return lines.join('\n')
}

/** A line that ends in a backslash goes on in the next: that one has no prompt of its own. */
const isContinued = (before: string | undefined) => before?.endsWith('\\') === true

function usage(command: GdnCommand): string {
  const args = command.registeredArguments.map((argument) => {
    const name = argument.variadic ? `${argument.name()}...` : argument.name()
    return argument.required ? `<${name}>` : `[${name}]`
  })
  return ['gdn', command.name(), ...args, command.usageLine === '' ? '[flags]' : command.usageLine].join(' ')
}

function optionGroups(command: GdnCommand): Map<string, [string, string][]> {
  const helper = command.createHelp()
  const groups = new Map<string, [string, string][]>([['Flags', []]])
  for (const option of helper.visibleOptions(command)) {
    const title = option.helpGroupHeading ?? 'Output'
    const term = option.short === undefined ? `    ${option.flags}` : option.flags
    const row: [string, string] = [term, option.description]
    groups.set(title, [...(groups.get(title) ?? []), row])
  }
  return new Map([...groups].filter(([, rows]) => rows.length > 0))
}

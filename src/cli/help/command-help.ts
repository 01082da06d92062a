import type { GdnCommand } from '../command.ts'
import type { ColorLevel } from '../io/color.ts'
import { proseWidth, twoColumns, wrap } from '../text/wrap.ts'
import { exampleLines } from './example-lines.ts'
import { headingStyle } from './help.ts'
import { formatUsage } from './usage.ts'

/**
 * Returns the text of a command's help, such as `gdn nft mint --help`: the examples, the usage, and the flags by group.
 */
export async function commandHelp(
  command: GdnCommand,
  columns: number | undefined,
  level: ColorLevel,
): Promise<string> {
  const heading = await headingStyle(level)
  const width = proseWidth(columns)
  const { about, examples } = command.text
  const lines = [...wrap(`${command.summary()}.`, width)]
  if (about !== undefined) lines.push('', ...about.split('\n').flatMap((part) => wrap(part, width)))
  lines.push('', heading('Examples'))
  for (const example of examples) lines.push(...exampleLines(example, width), '')
  lines.push(
    heading('Usage'),
    ...wrap(formatUsage(command), width - 2).map((line, i) => `${i === 0 ? '  ' : '    '}${line}`),
  )
  for (const [title, rows] of optionGroups(command)) lines.push('', heading(title), ...twoColumns(rows, width))
  lines.push('', ...wrap('See gdn help exit-codes and gdn help output.', width), '')
  return lines.join('\n')
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

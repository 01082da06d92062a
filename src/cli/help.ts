import { CATALOGUE, type Noun } from './catalogue.ts'
import type { ColourLevel } from './colour.ts'
import { proseWidth, twoColumns, wrap } from './wrap.ts'

const ROOT_EXAMPLES = [
  '$ gdn local start',
  '$ gdn collection create --local --name "First light" -b polygon \\',
  '    --wallet 0xfB69…d359',
  '$ gdn nft mint --local --title Dawn --receiver 0xfB69…d359 --image dawn.png',
  '$ gdn batch mint drop.csv --local',
]

export type Heading = (text: string) => string

/** Headings stand out by their capitals; colour only adds to it. */
export async function headingStyle(level: ColourLevel): Promise<Heading> {
  if (level === 0) return (text) => text.toUpperCase()
  const { Chalk } = await import('chalk')
  const chalk = new Chalk({ level })
  return (text) => chalk.bold(text.toUpperCase())
}

/** `gdn --help`, from the catalogue alone. */
export async function rootHelp(columns: number | undefined, level: ColourLevel): Promise<string> {
  const heading = await headingStyle(level)
  const width = proseWidth(columns)
  const termWidth = Math.max(...CATALOGUE.flatMap(({ entries }) => entries.map(({ name }) => name.length)))
  const lines = [
    ...wrap(
      'Create NFT collections, mint and look after NFTs: against the service, or against a backend of your own.',
      width,
    ),
    '',
    heading('Examples'),
    ...ROOT_EXAMPLES.map((line) => `  ${line}`),
    '',
    heading('Usage'),
    '  gdn <command> [flags]',
  ]
  for (const { title, entries } of CATALOGUE) {
    const rows = entries.map(({ name, summary }) => [name.padEnd(termWidth), summary] as const)
    lines.push('', heading(title), ...twoColumns(rows, width))
  }
  lines.push('', heading('Flags of every command'), ...twoColumns(ROOT_FLAGS, width))
  lines.push('', heading('Flags of most commands'), ...twoColumns(MOST_FLAGS, width))
  lines.push('', 'gdn <command> --help tells the rest, examples first.', '')
  return lines.join('\n')
}

const ROOT_FLAGS = [
  ['-h, --help', 'Help for the command'],
  ['-q, --quiet', 'Say nothing but data and errors'],
  ['    --no-input', 'Ask nothing'],
  ['    --no-color', 'No colours'],
  ['    --debug', 'More on stderr: requests, timings, stack traces'],
  ['    --version', 'Print the version'],
] as const

const MOST_FLAGS = [
  ['    --local', 'The backend that gdn local start runs'],
  ['    --base-url <url>', 'Another server'],
  ['    --json', 'Print JSON, with the field names of the API'],
  ['-o, --output <mode>', 'table, json, ndjson, csv or ids'],
] as const

/** `gdn nft --help`. */
export async function nounHelp(noun: Noun, columns: number | undefined, level: ColourLevel): Promise<string> {
  const heading = await headingStyle(level)
  const width = proseWidth(columns)
  const rows = noun.verbs.map(({ name, summary }) => [name, summary] as const)
  return [
    ...wrap(`${noun.summary}.`, width),
    '',
    heading('Usage'),
    `  gdn ${noun.name} <command> [flags]`,
    '',
    heading('Commands'),
    ...twoColumns(rows, width),
    '',
    `gdn ${noun.name} <command> --help tells the rest, examples first.`,
    '',
  ].join('\n')
}

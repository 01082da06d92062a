import { join } from 'node:path'
import { CATALOGUE, type Noun } from '../catalogue.ts'
import type { ColorLevel } from '../io/color.ts'
import { packageRoot } from '../package-root.ts'
import { proseWidth, twoColumns, wrap } from '../text/wrap.ts'
import { exampleLines } from './example-lines.ts'
import type { Heading } from './topic.ts'
import { HELP_TOPICS } from './topics.ts'

export const SUMMARY = 'Create NFT collections and mint NFTs, with a hosted service or your own backend.'

const ROOT_EXAMPLES = [
  ['Start a local backend, and create a wallet and a collection', 'gdn local start'],
  ['', 'gdn wallet generate --local --name alice'],
  ['', 'gdn collection create --local --name "First light" -b polygon --wallet @alice'],
  ['Mint an NFT and a drop', 'gdn nft mint --local --title Dawn --receiver @alice'],
  ['', 'gdn batch mint drop.csv --local'],
] as const

/** Returns a function that styles headings. Headings are in upper case, so that they are recognizable without color. */
export async function headingStyle(level: ColorLevel): Promise<Heading> {
  if (level === 0) return (text) => text.toUpperCase()
  const { Chalk } = await import('chalk')
  const chalk = new Chalk({ level })
  return (text) => chalk.bold(text.toUpperCase())
}

/** Returns the text of `gdn --help`. Loads only the command catalogue. */
export async function rootHelp(columns: number | undefined, level: ColorLevel): Promise<string> {
  const heading = await headingStyle(level)
  const width = proseWidth(columns)
  const names = [...CATALOGUE.flatMap(({ entries }) => entries), ...HELP_TOPICS].map(({ name }) => name)
  const termWidth = Math.max(...names.map((name) => name.length))
  const inColumns = (entries: readonly { name: string; summary: string }[]) =>
    twoColumns(
      entries.map(({ name, summary }) => [name.padEnd(termWidth), summary]),
      width,
    )
  const lines = [
    ...wrap(SUMMARY, width),
    '',
    heading('Examples'),
    ...ROOT_EXAMPLES.flatMap(([does, line]) => exampleLines([does, line], width).slice(does === '' ? 1 : 0)),
    '',
    heading('Usage'),
    '  gdn <command> [flags]',
  ]
  for (const { title, entries } of CATALOGUE) lines.push('', heading(title), ...inColumns(entries))
  lines.push('', heading('Help topics'), ...inColumns(HELP_TOPICS))
  lines.push('', heading('Flags of every command'), ...twoColumns(ROOT_FLAGS, width))
  lines.push('', heading('Flags of most commands'), ...twoColumns(SHARED_FLAGS, width))
  lines.push(
    '',
    ...wrap('gdn <command> --help shows examples and all flags. gdn help <topic> shows a reference page.', width),
    ...wrap('gdn help <words> searches the documentation. Example: gdn help stuck nonce', width),
  )
  return [...lines, '', heading('Documentation'), `  ${docsLink()}`, ''].join('\n')
}

/**
 * Returns the path of the README. It is part of every installation, so it needs no network and has the same version.
 */
export const docsLink = () => join(packageRoot(), 'README.md')

export const ROOT_FLAGS = [
  ['-h, --help', 'Help for the command'],
  ['-q, --quiet', 'Omit notes and progress'],
  ['    --no-input', 'Disable prompts'],
  ['    --no-color', 'Disable colors'],
  ['    --debug', 'Print requests, timings and stack traces to stderr'],
  ['-V, --version', 'Print the version'],
] as const

const SHARED_FLAGS = [
  ['    --local', 'Use the local backend (gdn local start)'],
  ['    --base-url <url>', 'URL of the server'],
  ['    --json', 'Print JSON'],
  ['-o, --output <mode>', 'Output format: table, json, ndjson, csv or ids (table)'],
] as const

/** Returns the text of a noun's help, such as `gdn nft --help`. */
export async function nounHelp(noun: Noun, columns: number | undefined, level: ColorLevel): Promise<string> {
  const heading = await headingStyle(level)
  const width = proseWidth(columns)
  const rows = noun.verbs.map(({ name, summary }) => [name, summary] as const)
  const topic = HELP_TOPICS.find(({ name }) => name === noun.name)
  const topicHelp = topic === undefined ? '' : ` gdn help ${topic.name} shows a reference page.`
  const more = `gdn ${noun.name} <command> --help shows examples and all flags.${topicHelp}`
  return [
    ...wrap(`${noun.summary}.`, width),
    '',
    heading('Usage'),
    `  gdn ${noun.name} <command> [flags]`,
    '',
    heading('Commands'),
    ...twoColumns(rows, width),
    '',
    ...wrap(more, width),
    '',
  ].join('\n')
}

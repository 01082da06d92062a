/** @module-tag slow */
import { expect, test } from 'vitest'
import { COMMANDS, ENTRIES, isNoun } from '../../../src/cli/catalogue.ts'
import { docsLink } from '../../../src/cli/help/help.ts'
import { readTopic } from '../../../src/cli/help/topic.ts'
import { HELP_TOPICS } from '../../../src/cli/help/topics.ts'
import { displayWidth } from '../../../src/cli/text/display-width.ts'
import { eachCase } from '../../helpers/each-case.ts'
import { cli } from '../harness.ts'

/** The path of this installation, which may be long and may contain spaces. */
const README = `  ${docsLink()}`

const PAGES: string[] = [
  'help',
  ...ENTRIES.filter(isNoun).map(({ name }) => `${name} --help`),
  ...COMMANDS.map(({ command }) => `${command} --help`),
  ...HELP_TOPICS.map(({ name }) => `help ${name}`),
]

/** Whether a line is one word that can't be wrapped: an ID, a quoted filter, a path. */
const isOneWord = (line: string) => /^ {2,}(\$ )?([^\s'"]|'[^']*'|"[^"]*")+( \\)?$/.test(line)

/** The lines of files that a topic shows. They aren't wrapped, so that they can be copied, and fit into 80 columns. */
async function linesOfFiles(page: string): Promise<string[]> {
  const topic = HELP_TOPICS.find(({ name }) => `help ${name}` === page)
  if (topic === undefined) return []
  const blocks = (await readTopic(topic.page)).sections.flatMap((section) => section.blocks)
  return blocks.flatMap((block) => ('lines' in block ? block.lines.map((line) => `    ${line}`) : []))
}

const shown = new Map<string, Promise<string>>()

/** Returns what a page shows in a terminal of this width. Each is rendered once. */
function shownIn(page: string, columns: number): Promise<string> {
  const name = `${columns} ${page}`
  const known = shown.get(name) ?? render(page, columns)
  shown.set(name, known)
  return known
}

async function render(page: string, columns: number): Promise<string> {
  const { code, stdout } = await cli(page.split(' '), { columns })
  expect(code).toBe(0)
  return stdout
}

test.each([40, 80, 120])('every page fits into %i columns', async (columns) => {
  await eachCase(PAGES, async (page) => {
    const lines = (await shownIn(page, columns)).split('\n')
    const ofFiles = columns < 80 ? await linesOfFiles(page) : []
    const isWhole = (line: string) => isOneWord(line) || line === README || ofFiles.includes(line)
    expect(lines.filter((line) => displayWidth(line) > columns && !isWhole(line))).toEqual([])
  })
})

test('every page contains the same words at every width, so that examples can be copied', async () => {
  await eachCase(PAGES, async (page) => {
    expect(wordsOf(await shownIn(page, 40))).toEqual(wordsOf(await shownIn(page, 120)))
  })
})

/** The words of a page, without the characters that wrapping adds. */
function wordsOf(page: string): string[] {
  return page
    .replaceAll(/ \\\n +/g, ' ')
    .replaceAll(/\n {2}# /g, '\n')
    .split(/\s+/)
    .filter((word) => word !== '' && word !== '#')
}

import { describe, expect, test } from 'vitest'
import { COMMANDS, ENTRIES, isNoun } from '../../src/cli/catalogue.ts'
import { docsLink } from '../../src/cli/help/help.ts'
import { TOPICS } from '../../src/cli/help/topics.ts'
import { displayWidth } from '../../src/cli/text/display-width.ts'
import { cli } from './harness.ts'

/** The path of this installation, which may be long and may contain spaces. */
const README = `  ${docsLink()}`

const PAGES: string[] = [
  'help',
  ...ENTRIES.filter(isNoun).map(({ name }) => `${name} --help`),
  ...COMMANDS.map(({ command }) => `${command} --help`),
  ...TOPICS.map(({ name }) => `help ${name}`),
]

/** Whether a line is one word that can't be wrapped: an ID, a quoted filter, a path. */
const isOneWord = (line: string) => /^ {2,}(\$ )?([^\s'"]|'[^']*'|"[^"]*")+( \\)?$/.test(line)

describe.each(PAGES)('gdn %s', (page) => {
  test.each([40, 80, 120])('fits into %i columns', async (columns) => {
    const { code, stdout } = await cli(page.split(' '), { columns })
    expect(code).toBe(0)
    expect(
      stdout.split('\n').filter((line) => displayWidth(line) > columns && !isOneWord(line) && line !== README),
    ).toEqual([])
  })

  test('contains the same words at every width, so that examples can be copied', async () => {
    const [wide, narrow] = await Promise.all([120, 40].map((columns) => cli(page.split(' '), { columns })))
    expect(wordsOf(narrow?.stdout)).toEqual(wordsOf(wide?.stdout))
  })
})

/** The words of a page, without the characters that wrapping adds. */
function wordsOf(page = ''): string[] {
  return page
    .replaceAll(/ \\\n +/g, ' ')
    .replaceAll(/\n {2}# /g, '\n')
    .split(/\s+/)
    .filter((word) => word !== '' && word !== '#')
}

import { expect, test } from 'vitest'
import { evmAddressProblem } from '../../src/api/address.ts'
import { COMMANDS } from '../../src/cli/catalogue.ts'
import { TOPICS } from '../../src/cli/help/topics.ts'
import { eachCase } from '../helpers/each-case.ts'
import { cli } from './harness.ts'

const PAGES: string[] = [
  'help',
  ...COMMANDS.map(({ command }) => `${command} --help`),
  ...TOPICS.map(({ name }) => `help ${name}`),
]

const known = new Map<string, Promise<string[]>>()

/** The lines of the examples that a user would type, without comments. */
function typedLines(page: string): Promise<string[]> {
  const lines = known.get(page) ?? readLines(page)
  known.set(page, lines)
  return lines
}

async function readLines(page: string): Promise<string[]> {
  const { stdout } = await cli(page.split(' '), { columns: 120 })
  const [, examples = ''] = /EXAMPLES\n([\s\S]*?)\n\n[A-Z]/.exec(stdout) ?? []
  return examples.split('\n').filter((line) => /^( {2}\$| {3}) \S/.test(line))
}

test('examples can be pasted: they contain no placeholders, and every address is valid', async () => {
  await eachCase(PAGES, async (page) => {
    const lines = await typedLines(page)
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.filter((line) => /…|\.\.\.|<[a-z]+>/.test(line))).toEqual([])
    const addresses = lines.join('\n').match(/\b0x(?![0-9a-f]{64}\b)\w*/g) ?? []
    expect(addresses.filter((address) => evmAddressProblem(address) !== null)).toEqual([])
  })
})

test('examples contain complete IDs', async () => {
  await eachCase(PAGES, async (page) => {
    const ids = (await typedLines(page)).join('\n').match(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]*/g) ?? []
    expect(ids.filter((id) => !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id))).toEqual([])
  })
})

test('the examples of completion create the folder that a completion script is written to', async () => {
  const lines = await typedLines('completion --help')
  const folders = lines.flatMap((line) => / > (\S+)\/[^/]+$/.exec(line)?.[1] ?? [])
  expect(folders.length).toBe(3)
  for (const folder of folders) expect(lines).toContain(`  $ mkdir -p ${folder}`)
})

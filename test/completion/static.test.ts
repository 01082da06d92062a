import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { KNOWN_NAMES } from '../../src/api/blockchains.ts'
import { generateCompletions } from '../../src/build/completions.mjs'
import type { CommandTree } from '../../src/cli/command-tree.ts'
import { OUTPUT_MODES } from '../../src/cli/flags/common.ts'
import { cli } from '../cli/harness.ts'
import { whenFileDone } from '../helpers/clean-up.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { SHELLS } from './shells.ts'

let dir: string
let folder: string
let tree: CommandTree

beforeAll(async () => {
  dir = await temporaryFolder('gdn-completion-', whenFileDone)
  folder = join(dir, 'completions')
  await generateCompletions(dir)
  tree = JSON.parse((await cli(['help', '--json'], { env: { HOME: dir } })).stdout)
  for (const name of ['drop.csv', 'art.png', 'a file.csv', '$(touch ran).csv']) await writeFile(join(dir, name), '')
  await mkdir(join(dir, 'state-of-mine'))
})

describe.each(SHELLS.map((shell) => [shell.name, shell] as const))('completion in %s', (_name, shell) => {
  const isMissing = !shell.isThere
  beforeEach(({ skip }) => skip(isMissing, `${shell.name} is not installed`))

  /** The suggested values for a line, without the part of the word before them. */
  const valuesFor = async (line: string) => {
    const [offers = []] = await shell.offers([line], { folder, cwd: dir })
    return [...new Set(offers.map(({ value }) => value.replace(/^.*[=,]/, '')))].sort()
  }

  test('suggests every noun and command with its summary', async () => {
    const entries = tree.groups.flatMap((group) => group.entries)
    const nouns = entries.filter((entry) => !entry.is_command)
    const [first = [], ...verbs] = await shell.offers(['gdn ', ...nouns.map(({ name }) => `gdn ${name} `)], { folder })
    expect(first.map(({ value }) => value).sort()).toEqual(['help', ...entries.map(({ name }) => name)].sort())
    for (const { name, summary } of entries) {
      expect(first.find(({ value }) => value === name)?.what).toContain(summary.slice(0, 40))
    }
    for (const [i, noun] of nouns.entries()) {
      const own = tree.commands.filter(({ name }) => name.startsWith(`${noun.name} `))
      expect(verbs[i]?.map(({ value }) => `${noun.name} ${value}`).sort()).toEqual(own.map(({ name }) => name).sort())
    }
  })

  test('suggests every flag of every command, long and short, and no other', async () => {
    const found = await shell.offers(
      tree.commands.map(({ name }) => `gdn ${name} -`),
      { folder },
    )
    for (const [i, { name, flags }] of tree.commands.entries()) {
      const all = flags.flatMap((flag) => [flag.name, flag.short]).filter((form) => form !== null)
      expect(found[i]?.map(({ value }) => value).sort(), name).toEqual(all.sort())
    }
  })

  const POLYGONS = ['polygon', 'polygon-mumbai', 'polygon-amoy']
  test.each([
    ['a flag from its prefix', 'gdn nft mint --recei', ['--receiver']],
    ['a flag after others with values', 'gdn nft list -c --json -o csv --lim', ['--limit']],
    ['nothing that was already given', 'gdn nft list --limit 5 --lim', []],
    ['a flag that may be repeated', 'gdn nft mint --extra a=b --ext', ['--extra']],
    ['a flag if no argument is left', 'gdn config path --js', ['--json']],
    ['a command after flags with values', 'gdn --profile nft --debug nft mi', ['mint']],
    ['blockchains', 'gdn nft list -b ', [...KNOWN_NAMES]],
    ['blockchains from their prefix', 'gdn nft list --blockchain polygon', POLYGONS],
    ['a value in the same word', 'gdn nft list --output=', [...OUTPUT_MODES]],
    ['a value in the same word from its prefix', 'gdn nft list --output=nd', ['ndjson']],
    ['one word after another', 'gdn batch results x --status failed,unk', ['unknown']],
    ['a shell', 'gdn completion po', ['powershell']],
    ['an endpoint', 'gdn api getnftg', ['getnftgdnids']],
    ['a setting', 'gdn config get blo', ['blockchain']],
    ['a help topic', 'gdn help exit', ['exit-codes']],
    ['commands in help', 'gdn help nft mi', ['mint']],
    ['flags of help', 'gdn help --js', ['--json']],
    ['nothing for a word that is not a command', 'gdn xyz mi', []],
    ['nothing for free text', 'gdn nft mint --title x', []],
  ])('suggests %s', async (_what, line, expected) => {
    expect(await valuesFor(line)).toEqual([...expected].sort())
  })

  test('suggests files for a file, and folders for a folder', async () => {
    expect(await valuesFor('gdn batch mint dr')).toEqual(['drop.csv'])
    expect(await valuesFor('gdn nft mint -f dr')).toEqual(['drop.csv'])
    expect(await valuesFor('gdn nft mint --media image=ar')).toEqual(['art.png'])
    const folders = await valuesFor('gdn nft list --state-dir ')
    expect(folders.map((name) => name.replace(/\/$/, ''))).toEqual(['completions', 'state-of-mine'])
  })

  test('suggests a file with a hostile name, and runs no part of it', async () => {
    const offered = (await shell.offers(['gdn batch mint '], { folder, cwd: dir })).flat().map(({ value }) => value)
    expect(offered.some((value) => value.replaceAll('\\', '').includes('touch ran'))).toBe(true)
    expect(offered).toContain('drop.csv')
    expect(await valuesFor('gdn batch mint ra')).toEqual([])
  })

  test('suggests the command after local exec --', async () => {
    expect(await valuesFor('gdn local exec -- unam')).toContain('uname')
  })

  test('runs no part of a hostile line', async () => {
    const marks = ['gdn nft list -b $(>ran) --', 'gdn `>ran` ', "gdn nft '$(>ran)' -"]
    await shell.offers(marks, { folder, cwd: dir })
    expect(await valuesFor('gdn batch mint ra')).toEqual([])
  })
})

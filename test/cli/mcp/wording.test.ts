/** @module-tag slow */
import { readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { CommandTree } from '../../../src/cli/command-tree.ts'
import { failedResponse, pagedResponse } from '../../../src/cli/mcp/tool-response.ts'
import { Toolbox } from '../../../src/cli/mcp/toolbox.ts'
import type { Tool } from '../../../src/cli/mcp/tools.ts'
import type { TOOLSET_WORDS } from '../../../src/cli/mcp/toolsets.ts'
import { withToolNames } from '../../../src/cli/mcp/wording.ts'
import { GdnError } from '../../../src/core/errors.ts'
import { shellWord } from '../../../src/core/shell-word.ts'
import { cli } from '../harness.ts'

const SRC = fileURLToPath(new URL('../../../src', import.meta.url))

let tree: CommandTree
let toolbox: Toolbox

const boxWith = (...toolsets: (typeof TOOLSET_WORDS)[number][]) =>
  new Toolbox(tree.commands, { allowWrites: true, passwordFile: 'password', toolsets })

beforeAll(async () => {
  tree = JSON.parse((await cli(['help', '--json'], { env: { HOME: tmpdir() } })).stdout)
  toolbox = boxWith('all')
})

/** What an agent gets of an error of a tool. */
function shown(command: string, hint: string, box = toolbox) {
  const answer = failedResponse(new GdnError('usage', 'is wrong', { hint }))
  return withToolNames(answer, box.get(command), box).error?.hint
}

/** Returns the flags in a text that a tool has as parameters, apart from those of commands that a person runs. */
function flagsIn(text: string, { inputs, parameterNames }: Tool): string[] {
  const flags = inputs.flatMap(({ flag, off }) => [flag, off]).concat(...parameterNames.keys(), '--dry-run')
  const own = text.replace(/`gdn [^`]*`/g, '')
  return [...own.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)].map(([flag]) => flag).filter((flag) => flags.includes(flag))
}

/** Every piece of text in the source that names a flag. */
async function textsOfSource(): Promise<string[]> {
  const files = (await readdir(SRC, { recursive: true })).filter((file) => /^(?!build|server).*\.ts$/.test(file))
  const sources = await Promise.all(files.map((file) => readFile(join(SRC, file), 'utf8')))
  const strings = sources.flatMap(
    (source) => source.match(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|"(?:[^"\\\n]|\\.)*"/g) ?? [],
  )
  return [...new Set(strings.filter((text) => /--[a-z]/.test(text)).map((text) => text.slice(1, -1)))]
}

describe('errors and hints of tools', () => {
  test('name no flag that the tool has as a parameter, for any text of the source', async () => {
    const texts = await textsOfSource()
    expect(texts.length).toBeGreaterThan(300)
    const found = toolbox.offeredTools.flatMap((tool) =>
      texts.flatMap((text) => {
        if (flagsIn(text, tool).length === 0) return []
        const issue = { place: { flag: [...tool.parameterNames.keys()].at(-1) }, message: text, hint: text }
        const answer = failedResponse(new GdnError('usage', text, { hint: text, details: { issues: [issue] } }))
        const { error } = withToolNames(answer, tool, toolbox)
        return flagsIn(JSON.stringify(error), tool).map((flag) => `${tool.name}: ${flag} in ${text}`)
      }),
    )
    expect(found).toEqual([])
  })

  test('keep the whole value of a flag, for any text of the source', async () => {
    const texts = await textsOfSource()
    const found = toolbox.offeredTools.flatMap((tool) =>
      texts.flatMap((text) => {
        const own = text.replace(/`gdn [^`]*`/g, '')
        const values = [...own.matchAll(/(--[a-z-]+) (?!<[^>]*>$)([^\s`]*=[^\s`]*)/g)].filter(([, flag = '']) =>
          tool.parameterNames.has(flag),
        )
        return values.flatMap(([, flag = '', value = '']) => {
          const pair = JSON.stringify([value.replace(/[.,]$|'\)\}\\$/, '')])
          const expected = `${tool.parameterNames.get(flag)}: ${pair}`
          return shown(tool.command, text)?.includes(expected) ? [] : [`${tool.name}: ${expected} in ${text}`]
        })
      }),
    )
    expect(found).toEqual([])
  })

  test('keep each word of a command line, with any characters that need quotes', () => {
    const word = fc.string({ unit: fc.constantFrom(...`ab'"\\ <>|$=-é`) }).filter((text) => !text.startsWith('-'))
    fc.assert(
      fc.property(word, word, (manifest, run) => {
        const hint = `Run \`gdn batch mint ${shellWord(manifest)} --run ${shellWord(run)}\`.`
        expect(shown('batch mint', hint)).toBe(`Call batch_mint ${JSON.stringify({ manifest, run })}.`)
      }),
      { numRuns: 2000, examples: [["it's here.csv", "it's"]] },
    )
  })

  test('name the parameter in the place of its flag', () => {
    for (const tool of toolbox.offeredTools) {
      for (const [flag, property] of tool.parameterNames) {
        if (!/^(--|<)/.test(flag)) continue
        const answer = failedResponse(new GdnError('usage', 'is wrong', { place: { flag } }))
        const { message } = withToolNames(answer, tool, toolbox).error ?? {}
        expect(message, tool.name).toBe(`${property}: is wrong`)
      }
    }
  })

  test('name the parameter with which apply burns', () => {
    const tool = toolbox.offeredTools.find(({ name }) => name === 'plan')
    if (tool === undefined) throw new Error('no plan')
    const note = 'Its NFT is burned only by a plan that was saved with --prune and --out'
    const { data } = withToolNames(pagedResponse({ code: 0, data: { notes: [note] }, error: null }, 0), tool, toolbox)
    expect(data).toEqual({ notes: ['Its NFT is burned only by apply with prune true'] })
  })

  test('give the problems that a command reports as data the code of its exit code', () => {
    const data = [{ check: 'server', status: 'fail' }]
    expect(pagedResponse({ code: 6, data, error: null }, 0)).toMatchObject({
      status: 'error',
      data,
      error: { code: 'unreachable', message: 'The data lists the problems.' },
    })
  })

  test.each([
    ['collection set', 'Add --wallet @studio.', 'Add wallet @studio.'],
    ['nft list', 'Add --contract <address> and -b <name>.', 'Add contract and blockchain.'],
    ['nft mint', 'Run the same command again without --no-wait.', 'Run the same command again without wait: false.'],
    ['batch status', 'Run `gdn batch list` to list the runs.', 'Call batch_list to list the runs.'],
    [
      'nft mint',
      'Run `gdn nft show a --newest` again.',
      'Run `gdn nft show a --newest` again. Ask the user to run it in a terminal.',
    ],
    ['nft mint', 'To see it, run `gdn nft show a --local --json`.', 'To see it, call nft_show {"nft_gdn_id":["a"]}.'],
    [
      'plan',
      'Then run `gdn batch mint "my drop.csv" --no-wait --run=one -c 0x1`.',
      'Then call batch_mint {"manifest":"my drop.csv","wait":false,"run":"one","contract":"0x1"}.',
    ],
    ['collection set', 'Run `gdn collection set --help` for usage.', "See collection_set's schema for usage."],
    [
      'doctor',
      'Run `gdn local start` to start it.',
      'Run `gdn local start` to start it. Ask the user to run it in a terminal.',
    ],
    [
      'doctor',
      'Start it with `gdn serve` or `gdn local start`.',
      'Start it with `gdn serve` or `gdn local start`. Ask the user to run them in a terminal.',
    ],
    [
      'batch mint',
      'To mint all rows again, add --again.',
      'To mint all rows again, add --again. This tool has no parameter for --again: ask the user.',
    ],
    [
      'batch mint',
      'Run `gdn batch mint a.csv --again`.',
      'Run `gdn batch mint a.csv --again`. Ask the user to run it in a terminal.',
    ],
    [
      'apply',
      'Nothing was sent. Run `gdn plan <manifest> --out <file>` again, and review the plan.',
      'Nothing was sent. Call apply with dry_run true to plan again.',
    ],
    [
      'apply',
      'Nothing was sent. Edit the manifest instead, and run `gdn plan <manifest> --out <file>` again.',
      'Nothing was sent. Edit the manifest instead, and call apply with dry_run true to plan again.',
    ],
    ['nft list', 'gdn reads it by itself, 5 - 3.', 'gdn reads it by itself, 5 - 3.'],
    ['nft mint', 'Add --title. Run `gdn nft mint --help` for examples.', 'Add title.'],
    [
      'nft mint',
      'Set --attr <name>=<value>, or --title <title>: then go on.',
      'Set attr: ["<name>=<value>"], or title: then go on.',
    ],
    [
      'batch mint',
      'Add the column, or use --map <column>=image to read another column as image.',
      'Add the column, or use map: ["<column>=image"] to read another column as image.',
    ],
    [
      'plan',
      "Run `gdn batch mint drop.csv --map 'My Mood'=attr:Mood --map <column>=title`.",
      'Call batch_mint {"manifest":"drop.csv","map":["My Mood=attr:Mood","<column>=title"]}.',
    ],
    [
      'batch validate',
      "To ignore the column, add --map 'My Mood=ignore'. To make it public, add --map 'My Mood=attr:My Mood'.",
      'To ignore the column, add map: ["My Mood=ignore"]. To make it public, add map: ["My Mood=attr:My Mood"].',
    ],
    [
      'batch results',
      'Run `gdn batch mint` with the manifest. On a server without reference IDs, add --adopt.',
      'Call batch_mint with the manifest. On a server without reference IDs, add adopt.',
    ],
    ['nft mint', 'Run the same command with --max-cost 2 or more.', 'Make a new plan with max_cost 2 or more.'],
  ])('of gdn %s: %s', (command, hint, expected) => {
    expect(shown(command, hint)).toBe(expected)
  })

  test.each([
    'Ask the operator to start gdn mcp with --allow-spending and a limit.',
    'Ask the operator to start gdn mcp with a higher limit.',
  ])('leave the flags of the server to its operator: %s', (hint) => {
    expect(shown('nft mint', hint)).toBe(hint)
  })

  test('leave a command to people if its tool is not offered', () => {
    const hint = 'Run `gdn wallet add bob 0x1` first.'
    expect(shown('nft mint', hint)).toBe('Call wallet_add {"name":"bob","address":"0x1"} first.')
    expect(shown('nft mint', hint, boxWith('default'))).toBe(`${hint} Ask the user to run it in a terminal.`)
  })

  test('name parameters in the notes of a summary', () => {
    const answer = { ...failedResponse(null), data: { notes: ['Add --take-over to replace them.'] } }
    expect(withToolNames(answer, toolbox.get('apply'), toolbox).data).toEqual({
      notes: ['Add take_over to replace them.'],
    })
  })

  test.each([
    ['With --again, gdn mints every row a second time.', []],
    [
      'With --again, gdn mints every row a second time. To mint a burned row again, change its id.',
      ['To mint a burned row again, change its id.'],
    ],
    ['Nothing is left to do: all 3 rows are deployed.', ['Nothing is left to do: all 3 rows are deployed.']],
  ])('leave out the note on a flag that no tool has: %s', (note, notes) => {
    const answer = { ...failedResponse(null), data: { notes: [note] } }
    expect(withToolNames(answer, toolbox.get('batch mint'), toolbox).data).toEqual({ notes })
  })

  test('are changed in fields of ours, never in data', () => {
    const record = { title: '--wallet', nested: { message: '--wallet' }, fix: 'Add --wallet.' }
    const tool = toolbox.get('collection set')
    const { data } = withToolNames({ ...failedResponse(null), error: null, data: [record] }, tool, toolbox)
    expect(data).toEqual([{ ...record, fix: 'Add wallet.' }])
  })
})

test('the tool apply describes prune as the plan that it makes, and sends nobody back to it with a saved plan', () => {
  const { prune } = toolbox.get('apply').inputSchema.properties as Record<string, { description: string }>
  expect(prune?.description).toMatch(/^Burn NFTs of this run/)
  expect(shown('apply', 'To apply it, run `gdn apply plan.json`.')).toBe(
    'Call apply with the manifest. The user can apply a saved plan in a terminal.',
  )
})

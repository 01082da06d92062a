import { writeFile } from 'node:fs/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { BOB } from '../../helpers/addresses.ts'
import { saveAddresses } from '../../helpers/saved-addresses.ts'
import { folder } from '../batch/drop.ts'
import { CONTRACT, OWNER } from '../fake-api.ts'
import { type CliOptions, cli } from '../harness.ts'

/** No node listens there, so each command fails after it has read its flags. */
const NODE = ['-b', 'polygon', '--rpc-url', 'http://127.0.0.1:9']

let path: (name: string) => string
let options: CliOptions

beforeEach(async () => {
  const workFolder = await folder({})
  path = workFolder.path
  options = workFolder.options
  await saveAddresses(path('.local/state/gdn'), { alice: OWNER, bob: BOB })
  await cli(['wallet', 'group', '@team', '@alice', '@bob', `0x${'4'.repeat(40)}`], options)
})

const holders = (...argv: string[]) => cli(['collection', 'holders', ...argv, ...NODE], options)

describe('gdn collection holders --exclude', () => {
  test.each([
    ['an address', [BOB], null, '1 address'],
    ['a name', ['@alice'], null, '1 address'],
    ['a group, whose members count once', ['@team', '@bob', OWNER], null, '3 addresses'],
    ['a file with names', ['list.csv'], 'receiver,count\n@alice,1\n@team,2\n', '3 addresses'],
    ['a file without a header', ['list.csv'], `@alice\n${BOB}\n`, '2 addresses'],
    ['a file with a byte order mark and CRLF', ['list.csv'], `\uFEFFreceiver\r\n@alice\r\n${BOB}\r\n`, '2 addresses'],
  ])('prints how many addresses are excluded: %s', async (_what, excluded, text, said) => {
    if (text !== null) await writeFile(path('list.csv'), text)
    const values = excluded.map((value) => (value === 'list.csv' ? path(value) : value))
    const { code, stderr } = await holders(CONTRACT, ...values.flatMap((value) => ['--exclude', value]))
    expect(code).toBe(6)
    expect(stderr).toContain(`Excluded ${said}.\n`)
  })

  test.each([
    ['an unknown name', '@allice', null, '--exclude: @allice is not the name'],
    ['an unknown name in a file', 'list.csv', 'receiver\n@alice\n@nobody\n', 'list.csv:3:1 (receiver): @nobody is not'],
    ['a missing file', 'nothing.csv', null, '--exclude: "nothing.csv" is neither an address nor a file'],
    ['an ENS name without a node', 'alice.eth', null, '--exclude: alice.eth is an ENS name, and no Ethereum node'],
    ['an ENS name in a file', 'list.csv', `${BOB}\nalice.eth\n`, 'list.csv:2:1 (receiver): alice.eth is an ENS name'],
  ])('rejects %s with exit code 2', async (_what, value, text, said) => {
    if (text !== null) await writeFile(path(value), text)
    const { code, stdout, stderr } = await holders(CONTRACT, '--exclude', text === null ? value : path(value))
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(said)])
  })
})

describe('gdn collection holders -c', () => {
  test('takes the contract as a flag or from the configuration', async () => {
    expect((await holders('-c', CONTRACT)).code).toBe(6)
    const env = { ...options.env, GDN_CONTRACT: CONTRACT }
    expect((await cli(['collection', 'holders', ...NODE], { ...options, env })).code).toBe(6)
  })

  test.each([
    ['a contract that is given twice', [CONTRACT, '-c', CONTRACT], "--contract: can't be used with <address>"],
    ['no contract', [], '<address>: no collection is specified'],
    ['a wrong address', ['-c', '0x12'], '--contract: "0x12" '],
  ])('rejects %s', async (_what, argv, said) => {
    const { code, stderr } = await holders(...argv)
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)])
  })
})

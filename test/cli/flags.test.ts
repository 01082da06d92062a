import { describe, expect, test } from 'vitest'
import { COMMANDS, makeCommand, type Verb } from '../../src/cli/catalogue.ts'
import type { Deps } from '../../src/cli/deps.ts'
import { route } from '../../src/cli/route.ts'
import { parse } from '../../src/cli/run.ts'
import { VERSION } from '../../src/cli/version.ts'
import { eachCase } from '../helpers/each-case.ts'
import { cli, errorOf } from './harness.ts'

/** Looks like a private key. */
const KEY = `0x${'5eed'.repeat(16)}`
const CREATE_KEY = ['key', 'create', '--name', 'shop', '--email', 'shop@example.com', '--permission', 'all']
const SERVER = ['--base-url', 'http://127.0.0.1:9', '--no-input']

describe('invalid flag values', () => {
  test.each([
    ['a negative number', ['nft', 'list', '--limit=-1'], '--limit: must be a whole number'],
    ['an exponent', ['nft', 'list', '--limit', '1e3'], '--limit: must be a whole number'],
    ['hexadecimal', ['serve', '--port', '0x10'], '--port: must be a whole number'],
    ['full-width digits', ['nft', 'list', '--limit', '９'], '--limit: must be a whole number'],
    ['a leading zero', ['nft', 'list', '--limit', '007'], '--limit: must be a whole number'],
    ['an empty number', ['nft', 'list', '--limit', ''], '--limit: must be a whole number'],
    ['a port out of range', ['serve', '--port', '65536'], '--port: must be a whole number from 0 to 65535'],
    ['NaN', ['batch', 'mint', 'x.csv', '--rate', 'NaN'], '--rate: must be a positive number'],
    ['Infinity', ['batch', 'mint', 'x.csv', '--rate', 'Infinity'], '--rate: must be a positive number'],
    ['minus zero', ['batch', 'mint', 'x.csv', '--rate=-0'], '--rate: must be a positive number'],
    ['zero', ['batch', 'mint', 'x.csv', '--rate', '0'], '--rate: must be a positive number'],
    ['a time without a unit', ['nft', 'wait', 'x', '--timeout', '5'], '--timeout: must be a time such as 90s'],
    ['a time of zero', ['nft', 'wait', 'x', '--timeout', '0s'], '--timeout: must be a time such as 90s'],
    ['a pair without =', ['nft', 'mint', '--extra', 'abc'], '--extra: must be key=value'],
    ['an unknown output mode', ['nft', 'list', '-o', 'jsn'], '--output: must be one of table, json'],
    ['a word for a URL', ['batch', 'mint', 'x.csv', '--verify', '--gateway', 'nope'], '--gateway: must be a URL'],
    ['a word for a node', ['cost', 'x.csv', '--rpc-url', 'nope'], '--rpc-url: must be a URL'],
    ['an empty address', ['nft', 'list', '--base-url', ''], '--base-url: must not be empty'],
  ])('rejects %s with the name of the flag before anything is sent', async (_what, argv, message) => {
    const { code, stderr, stdout } = await cli(argv)
    expect(stderr).toContain(message)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  })
})

test.each([
  ['a percentage', ['collection', 'set', 'x', '--royalty', KEY]],
  ['an outcome', ['batch', 'reconcile', 'x', '--row', KEY]],
  ['a key that is specified twice', ['batch', 'reconcile', 'x', '--row', `${KEY}=1`, '--row', `${KEY}=2`]],
  ['an expiry', [...CREATE_KEY, '--expires', KEY]],
  ['a schema', ['schema', KEY]],
  ['a shell', ['completion', KEY]],
  ['a blockchain', ['config', 'set', 'blockchain', KEY]],
  ['a server', ['nft', 'list', '--base-url', KEY]],
  ['a profile', ['nft', 'list', '--profile', KEY]],
  ['an endpoint', ['api', KEY]],
  ['a command', [KEY]],
  ['a value of a short flag with =', ['nft', 'list', `-c=${KEY}`]],
])('prints no private key that is given as %s', async (_what, argv) => {
  const { code, stderr, stdout } = await cli([...argv, '--no-input'])
  expect(stdout + stderr).not.toContain(KEY.slice(2, 40))
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('(hidden)') })
})

test('rejects a flag given twice with different values, and accepts it with equal values', async () => {
  const twice = await cli(['nft', 'list', '-b', 'polygon', '--blockchain', 'astar', ...SERVER])
  expect(twice).toMatchObject({ code: 2, stderr: expect.stringContaining('--blockchain: is specified twice') })
  const sameResult = await cli(['nft', 'list', '-b', 'polygon', '--blockchain', 'polygon', ...SERVER])
  expect(sameResult.stderr).toContain('there is no API key')
})

test('treats a flag and its alias as the same flag', async () => {
  const { stderr } = await cli(['nft', 'list', '-c', 'a', '--contract-address', 'b', ...SERVER])
  expect(stderr).toContain('--contract: is specified twice')
})

test('rejects --wait together with --no-wait', async () => {
  const { code, stderr } = await cli(['nft', 'mint', '--title', 'x', '--wait', '--no-wait', ...SERVER])
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('contradict each other') })
})

test('rejects --json together with another --output', async () => {
  const { code, stderr } = await cli(['nft', 'list', '-o', 'csv', '--json'])
  expect(code).toBe(2)
  expect(JSON.parse(stderr).error.message).toContain('contradict')
})

test.each([
  [['nft', 'mnt'], 'Did you mean gdn nft mint?'],
  [['colection', 'list'], 'Did you mean gdn collection list?'],
  [['nft', 'list', '--limt'], 'Did you mean --limit?'],
  [['nft', 'list', '-b', 'polygn'], 'Did you mean polygon?'],
  [['nft', 'list', '-o', 'tabel'], 'Did you mean table?'],
  [['nft', 'list', '--fields', 'tokenid'], 'Did you mean token_id?'],
  [['config', 'get', 'contrct'], 'Did you mean contract?'],
])('suggests the right word for a misspelled one, and never runs it: %j', async (argv, hint) => {
  const { code, stderr } = await cli(argv)
  expect(stderr).toContain(hint)
  expect(code).toBe(2)
})

test.each(['mint', 'retry', 'resume'])('batch %s accepts --batch-size for --chunk-size', async (verb) => {
  const { stderr } = await cli(['batch', verb, 'no.csv', '--batch-size', '0'])
  expect(stderr).toMatch(/^error: --chunk-size: /)
})

test.each(['list', 'show', 'wait'])('nft %s has no field that only the response to a mint has', async (verb) => {
  const { code, stderr } = await cli(['nft', verb, ...(verb === 'list' ? [] : ['a']), '--fields', 'accepted_date'])
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('accepted_date') })
})

test('names the environment variable that holds a misspelled blockchain', async () => {
  const { code, stderr } = await cli(['nft', 'list', ...SERVER], { env: { GDN_BLOCKCHAIN: 'polygn' } })
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringMatching(/GDN_BLOCKCHAIN.*\n.*polygon\?/) })
})

test('rejects more arguments than a command accepts', async () => {
  expect(await cli(['batch', 'status', 'a', 'b'])).toMatchObject({
    ...{ code: 2, stdout: '', stderr: expect.stringContaining('accepts at most 1 argument, but got 2') },
  })
})

test('accepts flags before the command', async () => {
  const result = await cli(['--json', '--base-url', 'http://127.0.0.1:9', 'nft', 'list', '-c', `0x${'a'.repeat(40)}`])
  expect(result.code).toBe(4)
  expect(errorOf(result).code).toBe('unauthorized')
})

test.each([
  [['-b', 'polygon', 'batch', 'validate', 'no.csv'], "no.csv: doesn't exist"],
  [['batch', '-b', 'polygon', 'validate', 'no.csv'], "no.csv: doesn't exist"],
  [['--yes', 'nft', 'lst'], 'unknown command "gdn nft lst"'],
  [['--private-key', '0x12', 'wallet', 'import'], 'unknown option "--private-key"'],
])('accepts flags of a command before its name: %j', async (argv, problem) => {
  expect((await cli(argv)).stderr).toContain(`error: ${problem}\n`)
})

test('accepts every flag of every command before its name', async () => {
  for (const verb of COMMANDS) {
    const command = await makeCommand(verb, {} as Deps)
    for (const { long, short, required } of command.createHelp().visibleOptions(command)) {
      if (long === '--help') continue
      for (const flag of [long, short].filter((name) => name !== undefined)) {
        const words = [flag, ...(required ? ['7'] : []), ...verb.command.split(' ')]
        expect(route(words), words.join(' ')).toMatchObject({ kind: 'verb', verb: { command: verb.command } })
      }
    }
  }
})

test('takes no flag as the value of another flag, in every command', async () => {
  let flags = 0
  for (const verb of COMMANDS) {
    const command = await makeCommand(verb, {} as Deps)
    for (const { long, short, required, flags: form } of command.options) {
      for (const flag of required ? [long, short].filter((name) => name !== undefined) : []) {
        flags += 1
        const { code, stderr } = await cli([...verb.command.split(' '), flag, '--quiet'])
        const said = stderr.split('\n')[0]
        expect({ code, said }, verb.command).toEqual({
          code: 2,
          said: `error: ${long}: needs a ${form.endsWith('<n>') ? 'number' : 'value'}, but --quiet follows`,
        })
      }
    }
  }
  expect(flags).toBeGreaterThan(300)
  const { stderr } = await cli(['batch', 'mint', 'v.csv', '--run', '--dry-run'])
  expect(stderr).toContain('If --dry-run is the value, use --run=--dry-run.')
  expect((await cli(['nft', 'list', '--limit', '--no-color'])).stderr).toContain('Use --limit <n>.')
  const misspelled = await cli(['batch', 'mint', 'v.csv', '--run', '--dryrun'])
  expect(misspelled.stderr).toContain('--run: needs a value, but --dryrun follows')
  expect((await cli(['nft', 'mint', '--run=--dry-run', '--title=--json'])).stderr).not.toContain('needs a value')
})

test('leaves the flags of a program that local exec runs alone', async () => {
  const exec = COMMANDS.find(({ command }) => command === 'local exec')
  const execCommand = await makeCommand(exec as Verb, {} as Deps)
  let got: unknown
  execCommand.action((words: string[]) => {
    got = words
  })
  await parse(execCommand, ['--fork', 'polygon', 'sh', '--fork', '--quiet'])
  expect(got).toEqual(['sh', '--fork', '--quiet'])
})

test.each([[['-q', 'version']], [['--no-color', '-V']], [['--no-input', '--version']]])(
  'prints the version after global flags: %j',
  async (argv) => {
    expect(await cli(argv)).toMatchObject({ code: 0, stdout: `${VERSION}\n`, stderr: '' })
  },
)

test('every command suggests the same network for another name of it', async () => {
  const named = []
  for (const verb of COMMANDS) {
    const command = await makeCommand(verb, {} as Deps)
    const takes = command.options.some(({ long }) => long === '--blockchain') ? ['-b', 'matic'] : []
    const [first] = command.registeredArguments
    const argument = first?.name() === 'blockchain' ? ['matic'] : []
    if (takes.length + argument.length > 0) named.push([...verb.command.split(' '), ...argument, ...takes])
  }
  expect(named.length).toBeGreaterThan(15)
  for (const argv of [...named, ['config', 'set', 'blockchain', 'matic']]) {
    const { code, stderr } = await cli(argv)
    expect({ code, stderr }, argv.join(' ')).toEqual({
      code: 2,
      stderr: expect.stringContaining('Did you mean polygon?'),
    })
  }
  const { stderr } = await cli(['nft', 'list', ...SERVER], { env: { GDN_BLOCKCHAIN: 'matic' } })
  expect(stderr).toContain('Did you mean polygon?')
})

test('each command on a data directory says so where a server is selected', async () => {
  const commands = await Promise.all(
    COMMANDS.map(async (verb) => ({ verb, command: await makeCommand(verb, {} as Deps) })),
  )
  const flagsOf = ({ options }: (typeof commands)[number]['command']) => options.map(({ long }) => long)
  const onDirectory = commands
    .filter(({ command }) => flagsOf(command).includes('--data-dir') && !flagsOf(command).includes('--local'))
    .map(({ verb }) => verb.command)
  expect(onDirectory).toEqual(expect.arrayContaining(['webhook list', 'key list', 'chain status', 'tx list']))
  await eachCase(onDirectory, async (command) => {
    for (const flag of [['--local'], ['--base-url', 'http://127.0.0.1:9']]) {
      const { code, stderr } = await cli([...command.split(' '), ...flag])
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringMatching(
          /unknown option "--\S+"\n.*Omit the flag\..*data directory.*\n.*--data-dir <dir>/,
        ),
      })
    }
  })
})

test('reports an invalid --fields before anything is sent', async () => {
  const { code, stderr } = await cli(['nft', 'mint', '--title', 'x', '--fields', 'nope', ...SERVER])
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('--fields: unknown field "nope"') })
})

test('formats all usage errors the same way, without repeating arguments', async () => {
  const said = async (...argv: string[]) => (await cli(argv)).stderr.split('\n')[0]
  expect(await said('nft', 'list', '--nosuch')).toBe('error: unknown option "--nosuch"')
  expect(await said('wallet', 'export', '--private-key=0x12')).toBe('error: unknown option "--private-key"')
  expect(await said('--nosuch')).toBe('error: unknown option "--nosuch"')
  expect(await said('nft', 'list', '--local=true')).toBe('error: --local: takes no value')
  expect(await said('batch', 'validate')).toBe('error: missing required argument "manifest"')
  expect(await said('nft', 'mint', '--title')).toBe('error: the flag --title <text> needs a value')
  expect(await said('auth', 'login', 'a-key')).toBe(
    'error: gdn auth login accepts no arguments, but got 1: quote values that contain spaces',
  )
  expect((await cli(['api', 'getnfts', 'r.json'])).stderr).toContain('run `gdn api <endpoint> -f <file>`')
  expect(await said('batch', 'validate', 'drop.csv', 'more')).toContain('accepts at most 1 argument, but got 2')
})

test.each([
  [['batch', 'mint', '-x.csv'], 'If -x.csv is a file, use ./-x.csv.'],
  [['apply', 'drop.csv', '--dry-run'], 'Run `gdn plan` to show the changes without making them.'],
  [['plan', 'row.json', '--to', 'list.csv'], 'Only `gdn batch mint` accepts a list of receivers.'],
  [['apply', 'row.json', '--to', 'list.csv'], 'Only `gdn batch mint` accepts a list of receivers.'],
  [['collection', 'create', 'First light'], 'Did you mean --name <name>?'],
  [['wallet', 'generate', 'alice'], 'Did you mean --name <name>?'],
  [['nft', 'mint', 'Dawn'], 'Did you mean --title <text>?'],
  [['nft', 'list', `0x${'a'.repeat(40)}`], 'Did you mean --contract <address>?'],
  [['nft', 'transfer', 'id-1', `0x${'a'.repeat(40)}`], 'Did you mean --receiver <address>?'],
  [['nft', 'list', 'polygon'], 'Did you mean --blockchain <name>?'],
  [['auth', 'login', 'https://gdn.example'], 'Did you mean --base-url <url>?'],
  [['serve', '8080'], 'Did you mean --port <port>?'],
  [['nft', 'transfer', 'Hours/1', 'Hours/2'], 'Specify one NFT. To transfer several NFTs of a manifest, change their'],
  [['nft', 'update', 'Hours/1', 'Hours/2'], 'Specify one NFT.'],
  [['nft', 'mint', '--to', 'list.csv'], 'run `gdn batch mint <manifest> --to <list>`.'],
  [['batch', 'mint', 'row.json', 'list.csv'], 'Specify one manifest. To mint to a list of receivers, add --to <list>.'],
  [['plan', 'a.csv', 'b.csv'], 'Specify one manifest.'],
  [['batch', 'mint', 'lamps.csv', 'lamps.bak'], 'but got 2\n  Specify one manifest.\n'],
  [['batch', 'mint', 'badge.json', '--receivers', 'list.txt'], 'Did you mean --to?'],
  [['batch', 'mint', 'badge.json', '--receivers=list.txt'], 'Did you mean --to?'],
  ...[
    ['badge.json', '--to', 'list.txt'],
    ['--to', 'list.txt', 'badge.json'],
    ['badge.json', '--receivers=list.txt'],
  ].map((argv): [string[], string] => [
    ['batch', 'validate', ...argv],
    'run `gdn batch mint badge.json --to list.txt --dry-run`.',
  ]),
  [['batch', 'validate', 'badge.json', '--to', 'a-key'], 'run `gdn batch mint badge.json --to <list> --dry-run`.'],
  [['apply', 'row.json', '--receivers', 'list.csv'], 'Only `gdn batch mint` accepts a list of receivers.'],
  [['nft', 'list', '-c', 'Hours', `0x${'a'.repeat(40)}`], 'Run `gdn nft list --help` for usage.'],
  [['local', 'stop', 'now'], 'Run `gdn local stop --help` for usage.'],
])('explains how to continue after gdn %j', async (argv, hint) => {
  expect(await cli(argv)).toMatchObject({ code: 2, stderr: expect.stringContaining(hint) })
})

test.each([
  [['nft', '--hlep'], '--hlep', 'Did you mean --help?'],
  [['nft', '--foo'], '--foo', 'Run `gdn nft --help` to list commands and flags.'],
  [['--local', 'batch', '--nosuch=1'], '--nosuch', 'Run `gdn batch --help` to list commands and flags.'],
])('rejects an unknown flag without a command of the group: gdn %j', async (argv, flag, hint) => {
  const { code, stdout, stderr } = await cli(argv)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(`unknown option "${flag}"`)
  expect(stderr).toContain(hint)
  expect((await cli(['nft', '--no-color'])).code).toBe(0)
})

test('lists the headings of columns among the fields', async () => {
  const { stderr } = await cli(['nft', 'list', '--fields', 'ownr', ...SERVER])
  expect(stderr).toContain('Did you mean owner?')
  expect(stderr).toMatch(/The fields are .*\bowner\b/)
})

test('rejects what is no address of any blockchain before it asks for the blockchain', async () => {
  for (const contract of ['foo', '0x12']) {
    const { code, stderr } = await cli(['nft', 'list', '--contract', contract, ...SERVER], {
      env: { GDN_API_KEY: 'key' },
    })
    expect(code).toBe(2)
    expect(stderr).toContain(`--contract: "${contract}" `)
    expect(stderr).not.toContain('blockchain')
  }
})

test('rejects "=" after every short flag, and says how to type the value', async () => {
  const seen = new Set<string>()
  for (const verb of COMMANDS) {
    for (const { short, long, required } of (await makeCommand(verb, {} as Deps)).options) {
      if (!short || seen.has(`${short} ${long}`)) continue
      seen.add(`${short} ${long}`)
      const hint = required ? `Use ${short} x or ${long}=x.` : `Use ${short} alone, or omit it.`
      for (const argv of [
        [...verb.command.split(' '), `${short}=x`],
        [`${short}=x`, ...verb.command.split(' ')],
      ]) {
        const { code, stderr } = await cli([...argv, '--no-input'])
        expect({ argv, code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(hint) })
        expect(stderr).toContain(`error: ${short}: `)
      }
    }
  }
  expect(seen.size).toBeGreaterThan(5)
  expect((await cli(['-o=table'])).stderr).toContain('unknown option "-o=table"')
})

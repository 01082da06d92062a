import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ENTRIES, isNoun } from '../../../src/cli/catalogue.ts'
import { suggestCommands } from '../../../src/cli/help/suggest.ts'
import { HELP_TOPICS } from '../../../src/cli/help/topics.ts'
import { fakeApi } from '../fake-api.ts'
import { cli, errorOf, tempHome } from '../harness.ts'

const VERBS = ENTRIES.flatMap((entry) => (isNoun(entry) ? entry.verbs.map((verb) => [entry.name, verb.name]) : []))

/** The text that a mistyped command prints. */
async function hintFor(argv: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli(argv)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  return stderr
}

test.each([
  [['batch', 'report', 'drop.csv', '--out', 'x.html'], '--to'],
  [['batch', 'preview', 'drop.csv', '--out=x.html'], '--to'],
  [['plan', 'drop.csv', '--to', 'x.json'], '--out'],
])('%j suggests the flag of that command for the file to write', async (argv, flag) => {
  expect(await hintFor(argv)).toContain(`Did you mean ${flag}?`)
})

describe('did you mean', () => {
  test.each([
    ['a command without its noun', ['mint'], 'gdn nft mint or gdn batch mint?'],
    ['verb and noun turned around', ['mint', 'nft'], 'gdn nft mint?'],
    ['both words misspelt', ['ntf', 'mnt'], 'gdn nft mint?'],
    ['words joined', ['batch-mint'], 'gdn batch mint?'],
    ['words quoted as one', ['nft mint'], 'gdn nft mint?'],
    ['capitals', ['NFT', 'list'], 'gdn nft list?'],
    ['a word of other tools', ['collection', 'ls'], 'gdn collection list?'],
    ['another word for minting', ['nft', 'create'], 'gdn nft mint?'],
    ['another word for generating', ['wallet', 'create'], 'gdn wallet generate?'],
    ['another word for adding', ['webhook', 'new'], 'gdn webhook add?'],
    ['a verb of other commands', ['collection', 'generate'], 'gdn collection create?'],
    ['a topic, misspelt', ['help', 'enviroment'], 'gdn help environment?'],
    ['help itself', ['hlep'], 'gdn help?'],
    ['a command after help', ['help', 'nft', 'mnt'], 'gdn nft mint?'],
    ['a flag', ['nft', 'list', '--limt'], '--limit?'],
    ['a flag with a value', ['nft', 'list', '--contrat=0x1'], '--contract?'],
    ['a flag with one dash', ['nft', 'list', '-json'], '--json?'],
    [
      'the name of a field of the API, misspelt',
      ['nft', 'mint', '--receiver-wallet-adress', 'x'],
      '--receiver-wallet-address?',
    ],
    ['a flag of help', ['help', '--jsn'], '--json?'],
    ['a flag with no command', ['--versoin'], '--version?'],
    ['the short flag for the version of other tools', ['-v'], '--version?'],
    ['a blockchain', ['nft', 'list', '-b', 'polygn'], 'polygon?'],
    ['an endpoint', ['api', 'getnft'], 'getnfts?'],
    ['a profile', ['nft', 'list', '--profile', 'locl'], 'local?'],
    ['a shell', ['completion', 'pwsh'], 'powershell?'],
    ['a setting', ['config', 'get', 'contrct'], 'contract?'],
  ])('suggests the right word for %s', async (_what, argv, suggestion) => {
    expect((await hintFor(argv)).toLowerCase()).toContain(`did you mean ${suggestion}`)
  })

  test.each([
    [['wallet', 'restore', 'key.json'], 'gdn wallet import <file>'],
    [['wallet', 'balance'], 'in a block explorer'],
    [['collection', 'enable', '--enable-transfer'], 'gdn collection set <address>'],
    [['collection', 'delete'], '--no-enable-api'],
  ])('says what to do instead of %j, which does not exist', async (argv, instead) => {
    const hint = await hintFor(argv)
    expect(hint).toContain(`unknown command "gdn ${argv[0]} ${argv[1]}"`)
    expect(hint.replaceAll(/\s+/g, ' ')).toContain(instead)
    expect(hint).not.toMatch(/did you mean/i)
  })

  test('does not suggest the opposite of a flag', async () => {
    expect(await hintFor(['nft', 'mint', '--no-image'])).not.toContain('Did you mean')
    expect(await hintFor(['batch', 'mint', '--no-wiat'])).toContain('Did you mean --no-wait?')
  })

  test('suggests a blockchain for the environment variable', async () => {
    const { stderr } = await cli(['nft', 'list', '-c', 'x', '--base-url', 'http://127.0.0.1:9'], {
      env: { GDN_BLOCKCHAIN: 'avalnche' },
    })
    expect(stderr).toContain('Did you mean avalanche?')
  })

  test('names the variable or the file of an unknown profile', async () => {
    const { dir, env } = await tempHome()
    const argv = ['nft', 'list', '-c', 'x', '--json']
    const named = errorOf(await cli(argv, { env: { ...env, GDN_PROFILE: 'locl' }, cwd: dir }))
    expect(named).toMatchObject({ message: 'GDN_PROFILE: there is no profile "locl"', hint: 'Did you mean local?' })
    await writeFile(join(dir, '.gdnrc.json'), '{"profile":"locl"}')
    const { message } = errorOf(await cli(argv, { env, cwd: dir }))
    expect(message).toBe(`${join(dir, '.gdnrc.json')} (profile): there is no profile "locl"`)
    const flagged = errorOf(await cli([...argv, '--profile', 'lcal'], { env: { ...env, GDN_PROFILE: 'x' }, cwd: dir }))
    expect(flagged.message).toBe('--profile: there is no profile "lcal"')
  })

  test('lists the available words if nothing is similar', async () => {
    expect(await hintFor(['xyzzyx'])).toContain(`commands are ${ENTRIES.map(({ name }) => name).join(', ')}`)
    expect(await hintFor(['help', 'xyzzyx'])).toContain(
      `help topics are ${HELP_TOPICS.map(({ name }) => name).join(', ')}`,
    )
    expect(await hintFor(['nft', 'xyzzyx'])).toContain('commands are mint, grant, transfer')
    expect(await hintFor(['nft', 'list', '--xyzzyx'])).toContain('Run `gdn nft list --help`')
  })

  test('is a hint of the error in JSON as well', async () => {
    const { hint, code } = errorOf(await cli(['nft', 'mnt', '--json']))
    expect({ hint, code }).toEqual({ hint: 'Did you mean gdn nft mint?', code: 'usage' })
  })
})

test('never runs the command that it suggests, nor an abbreviation', async () => {
  const { dir, env } = await tempHome()
  const data = join(dir, '.local', 'share', 'gdn', 'local')
  await mkdir(data, { recursive: true })
  await writeFile(join(data, 'api-key'), 'x')
  const api = await fakeApi({})
  for (const words of [
    ['local', 'rest', '--yes'],
    ['local', 'rese', '--yes'],
    ['locl', 'reset', '--yes'],
    ['reset', 'local', '--yes'],
    ['local', 'reset', '--ye'],
    ['api', 'createnf', '-f', '-', '--yes', '--base-url', api.url],
    ['nft', 'mnt', '--title', 'x', '--yes', '--base-url', api.url],
  ]) {
    const { code, stdout, stderr } = await cli(words, {
      env: { ...env, GDN_API_KEY: 'key' },
      tty: true,
      stderrTty: true,
    })
    expect({ code, stdout, stderr }, words.join(' ')).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('Did you mean'),
    })
  }
  expect(existsSync(data)).toBe(true)
  expect(api.calls).toEqual([])
})

test('suggests the right word for a doubled letter in any command or topic', () => {
  const slip = (word: string, at: number) => `${word.slice(0, at)}${word.slice(at - 1)}`
  fc.assert(
    fc.property(fc.constantFrom(...VERBS), fc.nat(), fc.boolean(), ([noun = '', verb = ''], seed, inNoun) => {
      const word = inNoun ? noun : verb
      if (word.length < 4) return
      const wrong = slip(word, 1 + (seed % (word.length - 1)))
      const words = inNoun ? [wrong, verb] : [noun, wrong]
      if (VERBS.some(([, name]) => name === wrong) || ENTRIES.some(({ name }) => name === wrong)) return
      expect(suggestCommands(words).near).toContain(`gdn ${noun} ${verb}`)
    }),
  )
  for (const { name } of HELP_TOPICS.filter(({ name }) => name !== 'local')) {
    expect(suggestCommands([slip(name, 3)]).near).toEqual([`gdn help ${name}`])
  }
})

test('suggests only commands that exist', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 12 }), { minLength: 1, maxLength: 2 }), (words) => {
      for (const line of suggestCommands(words).near) {
        const [gdn, first, second] = line.split(' ')
        const entry = ENTRIES.find(({ name }) => name === first)
        const isTopic = first === 'help' && HELP_TOPICS.some(({ name }) => name === second)
        const isCommand =
          entry !== undefined &&
          (second === undefined || (isNoun(entry) && entry.verbs.some(({ name }) => name === second)))
        expect({ gdn, known: isTopic || isCommand }).toEqual({ gdn: 'gdn', known: true })
      }
    }),
  )
})

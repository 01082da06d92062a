/** @module-tag slow */
import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createKeyPairSignerFromBytes } from '@solana/kit'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { GdnError } from '../../../src/core/errors.ts'
import { Secret } from '../../../src/core/secret.ts'
import { openKeystore } from '../../../src/keystore/open.ts'
import { generateKey } from '../../../src/wallet/new-key.ts'
import { reserve } from '../../../src/wallet/reservation.ts'
import { filesHolding, textHolds } from '../../helpers/leaks.ts'
import { walletService } from '../../helpers/wallet-service.ts'
import { LIGHT, OF_CAST } from '../../keystore/vectors.ts'
import { folder } from '../batch/drop.ts'
import { OWNER } from '../fake-api.ts'
import { type CliOptions, type CliResult, cli, errorOf } from '../harness.ts'

vi.mock(import('../../../src/keystore/limits.ts'), async (original) => ({
  ...(await original()),
  DEFAULT_SCRYPT: { n: 1024, r: 8, p: 1 } as never,
}))

const PASSWORD = 'correct horse'
const JUNK = 'test test test test test test test test test test test junk'
const ABANDON = `${'abandon '.repeat(11)}about`
const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const OTHER_KEY = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'
const ADDRESS = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

let path: (name: string) => string
let options: CliOptions
let wallets: string

beforeEach(async () => {
  const workFolder = await folder({})
  path = workFolder.path
  options = workFolder.options
  wallets = path('.local/share/gdn/wallets')
  await writeFile(path('pw'), `${PASSWORD}\n`, { mode: 0o600 })
})

const gdn = (argv: string[], more: CliOptions = {}): Promise<CliResult> => cli(argv, { ...options, ...more })

/** Pipes a key in. */
const pipe = (key: string, ...flags: string[]) =>
  gdn(['wallet', 'import', '--password-file', path('pw'), ...flags], { stdin: `${key}\n` })

/** Writes a private file, and imports it. */
async function file(content: string, ...flags: string[]) {
  await writeFile(path('key'), content, { mode: 0o600 })
  return await gdn(['wallet', 'import', path('key'), '--password-file', path('pw'), ...flags])
}

const filesOf = async (dir: string) => (await readdir(dir).catch(() => [])).sort()

async function openWallet(name: string, password = PASSWORD) {
  const at = join(wallets, `${name}.json`)
  return await openKeystore(await readFile(at, 'utf8'), new Secret(password), at)
}

/** Expects that a command failed with one message, and that nothing was stored. */
async function expectRefused({ code, stdout, stderr }: CliResult, said: string) {
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(said)
  expect(await filesOf(wallets)).toEqual([])
}

describe('gdn wallet import', () => {
  test.each([
    ['a private key', KEY],
    ['a mnemonic', JUNK],
  ])('stores %s from a pipe in a keystore of mode 0600, and prints the address', async (_what, key) => {
    const { code, stdout, stderr } = await pipe(key, '--name', 'alice', '--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const at = join(wallets, 'alice.json')
    expect(JSON.parse(stdout)).toEqual({ address: ADDRESS, name: 'alice', file: at, status: 'imported' })
    expect((await openWallet('alice')).privateKey.reveal()).toBe(KEY)
    expect((await stat(at)).mode & 0o777).toBe(0o600)
    expect((await stat(wallets)).mode & 0o777).toBe(0o700)
    expect(await filesOf(wallets)).toEqual(['alice.json'])
  })

  test('derives the key of another path, and of Solana', async () => {
    await pipe(JUNK, '--name', 'second', '--path', "m/44'/60'/0'/0/1")
    expect((await openWallet('second')).privateKey.reveal()).toBe(OTHER_KEY)
    const { stdout } = await pipe(ABANDON, '-b', 'solana', '-o', 'ids')
    expect(stdout).toBe('HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk\n')
  })

  test('opens a keystore of cast that others may read, and keeps its password', async () => {
    await writeFile(path('deployer'), JSON.stringify(OF_CAST.json))
    await chmod(path('deployer'), 0o644)
    const argv = ['wallet', 'import', './deployer', '--name', 'deployer', '--password-file', '-']
    const { code, stderr } = await gdn(argv, { stdin: OF_CAST.password })
    expect(code, stderr).toBe(0)
    expect((await openWallet('deployer', OF_CAST.password)).privateKey.reveal()).toBe(`0x${OF_CAST.key}`)
  })

  test('ends with 130 if Ctrl-C is pressed while a keystore opens, as export does', async () => {
    await writeFile(path('deployer'), JSON.stringify(OF_CAST.json), { mode: 0o600 })
    const commands = [
      ['wallet', 'import', path('deployer'), '--name', 'deployer', '--password-file', '-'],
      ['wallet', 'export', path('deployer'), '--format', 'private-key', '--to', path('key'), '--password-file', '-'],
    ]
    for (const argv of commands) {
      const stop = new AbortController()
      const onStderr = (text: string) => {
        if (text.includes('Opening the keystore')) stop.abort(new GdnError('interrupted', 'interrupted'))
      }
      const { code, stderr } = await gdn(argv, { stdin: OF_CAST.password, signal: stop.signal, onStderr })
      expect(code, stderr).toBe(130)
    }
    expect(await filesOf(wallets)).toEqual([])
    expect(existsSync(path('key'))).toBe(false)
  })

  test('imports a keypair file of Solana, which export writes again for @solana/kit', async () => {
    const generated = await gdn([
      'wallet',
      'generate',
      '--offline',
      '-b',
      'solana',
      '--name',
      'a',
      '--password-file',
      path('pw'),
      '--json',
    ])
    expect(generated.code, generated.stderr).toBe(0)
    const exported = (format: string, name: string) =>
      gdn(['wallet', 'export', name, '--format', format, '--to', '-', '--password-file', path('pw')])
    const keypair = (await exported('keypair', 'a')).stdout
    const signer = await createKeyPairSignerFromBytes(Uint8Array.from(JSON.parse(keypair)))
    expect(signer.address).toBe(JSON.parse(generated.stdout).address)
    for (const [name, text] of [
      ['b', keypair],
      ['c', (await exported('private-key', 'a')).stdout],
      ['d', (await exported('keystore', 'a')).stdout],
    ] as const) {
      const { stdout, code, stderr } = await file(text, '--name', name, '-o', 'ids')
      expect([code, stdout], stderr).toEqual([0, `${signer.address}\n`])
      expect((await exported('keypair', name)).stdout).toBe(keypair)
    }
  })

  test('uses the next free name if none is given', async () => {
    await gdn(['wallet', 'add', 'wallet-1', OWNER])
    await pipe(KEY)
    expect(await filesOf(wallets)).toEqual(['wallet-2.json'])
  })
})

describe('gdn wallet import again', () => {
  beforeEach(async () => {
    await pipe(KEY, '--name', 'alice')
  })

  test.each([
    ['under the same name', ['--name', 'alice']],
    ['under the same name with @', ['--name', '@alice']],
    ['without a name', []],
  ])('%s says so and changes nothing', async (_what, flags) => {
    const before = await readFile(join(wallets, 'alice.json'), 'utf8')
    const secondResult = await pipe(KEY, ...flags)
    expect([secondResult.code, secondResult.stderr]).toEqual([
      0,
      expect.stringContaining('@alice already has this key.'),
    ])
    expect(JSON.parse((await pipe(JUNK, ...flags, '--json')).stdout)).toMatchObject({
      name: 'alice',
      status: 'unchanged',
    })
    expect(await readFile(join(wallets, 'alice.json'), 'utf8')).toBe(before)
    expect(await filesOf(wallets)).toEqual(['alice.json'])
  })

  test('under another name stores it there too', async () => {
    expect((await pipe(KEY, '--name', 'bob')).code).toBe(0)
    expect(await filesOf(wallets)).toEqual(['alice.json', 'bob.json'])
  })

  test('rejects another key under the name of a wallet or an address', async () => {
    await gdn(['wallet', 'add', 'carol', OWNER])
    const before = await readFile(join(wallets, 'alice.json'), 'utf8')
    for (const name of ['alice', 'carol']) {
      const { code, stdout, stderr } = await pipe(OTHER_KEY, '--name', name)
      expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(`@${name} already exists`)])
    }
    expect(await readFile(join(wallets, 'alice.json'), 'utf8')).toBe(before)
    expect(await filesOf(wallets)).toEqual(['alice.json'])
  })

  test('rejects a name that another process is creating', async () => {
    const reservation = await reserve(wallets, 'bob')
    onTestFinished(() => reservation.release())
    const { code, stderr } = await pipe(OTHER_KEY, '--name', 'bob')
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`another gdn process is creating @bob (pid ${process.pid})`),
    ])
  })

  test('completes what a killed import of the same key left, and says so', async () => {
    await writeFile(join(wallets, '.bob.part'), JSON.stringify({ ...LIGHT.json, address: LIGHT.address }), {
      mode: 0o600,
    })
    const { code, stderr } = await pipe(LIGHT.key, '--name', 'bob')
    expect([code, stderr]).toEqual([0, expect.stringContaining('@bob already has this key.')])
    expect(await filesOf(wallets)).toEqual(['alice.json', 'bob.json'])
  })
})

describe('gdn wallet import rejects', () => {
  const hostile = (kdfparams: object) =>
    JSON.stringify({
      ...OF_CAST.json,
      crypto: { ...OF_CAST.json.crypto, kdfparams: { ...OF_CAST.json.crypto.kdfparams, ...kdfparams } },
    })
  const keystore = JSON.stringify(OF_CAST.json)

  test.each([
    [
      'a truncated keystore',
      keystore.slice(0, -30),
      /key:1:\d+: is not a keystore: has an unterminated or invalid string/,
    ],
    ['an empty file', '', /key: is empty/],
    ['a keystore of another version', keystore.replace('"version":3', '"version":4'), /version must be 3/],
    [
      'scrypt with n=2^30',
      hostile({ n: 2 ** 30 }),
      /key \(crypto\.kdfparams\.n\): must be a power of two from 2 to 8388608/,
    ],
    [
      'scrypt with 2^23 · 8 steps',
      hostile({ n: 2 ** 23 }),
      /is too large with these values of r and p: n × r × p is \d+ \(8192 MiB of memory\)/,
    ],
    ['scrypt with p=2^30', hostile({ p: 2 ** 30 }), /crypto\.kdfparams\.p/],
    ['a keystore with another password', keystore, /key: the password is wrong, or the file was changed/],
    ['an image', '\u0000PNG\r\n', /is not in a key format that gdn supports/],
  ])('%s', async (_what, content, said) => {
    const result = await file(content)
    expect(result.stderr).toMatch(said)
    await expectRefused(result, 'error:')
  })

  test.each([
    ['a wrong checksum', JUNK.replace('junk', 'able'), [], 'stdin: has a wrong checksum'],
    ['a blockchain of another kind', KEY, ['-b', 'solana'], '--blockchain: is solana, but stdin has an EVM key'],
    ['a path without a mnemonic', KEY, ['--path', 'm/0'], '--path: requires a mnemonic'],
    ['an invalid path', JUNK, ['--path', "44'/60'"], '--path: must be a derivation path'],
    [
      'a path with a part that is not hardened on Solana',
      JUNK,
      ['-b', 'solana', '--path', "m/44'/501'/0"],
      '--path: must have',
    ],
    ['an invalid name', KEY, ['--name', '../x'], '--name: the name of a wallet must be'],
    ['an unknown field', KEY, ['--fields', 'private_key'], '--fields: unknown field'],
    ['a password for others', KEY, ['--password-file', '-'], '--password-file'],
  ])('%s', async (_what, key, flags, said) => {
    await expectRefused(await pipe(key, ...flags), said)
  })

  test('a key from a pipe without a file for the password, before it reads the key', async () => {
    let opened = 0
    const more = { stdin: KEY, onStdin: () => void opened++ }
    await expectRefused(
      await gdn(['wallet', 'import'], more),
      '--password-file: is required, because standard input contains the key',
    )
    await expectRefused(await gdn(['wallet', 'import', '--password-file', '-'], more), '--password-file')
  })

  test('a key that others may read, and a link to it', async () => {
    await writeFile(path('key'), KEY)
    await chmod(path('key'), 0o644)
    await expectRefused(await gdn(['wallet', 'import', path('key'), '--password-file', path('pw')]), 'chmod 600')
    await chmod(path('key'), 0o600)
    await symlink(path('key'), path('link'))
    await expectRefused(
      await gdn(['wallet', 'import', path('link'), '--password-file', path('pw')]),
      'Pipe the key in instead',
    )
  })

  test.each([
    ['a missing file', 'none', "doesn't exist"],
    ['a folder', '.', 'is a directory'],
  ])('%s', async (_what, name, said) => {
    await expectRefused(await gdn(['wallet', 'import', path(name), '--password-file', path('pw')]), said)
  })

  test.each([KEY, KEY.slice(2), generateKey('solana').privateKey.reveal(), JUNK])(
    'a key in an argument, without repeating it',
    async (key) => {
      const result = await gdn(['wallet', 'import', key, '--password-file', path('pw')])
      await expectRefused(result, 'and every user of this machine can read arguments')
      for (const argv of [[...key.split(' '), 'x'], [`--private-key=${key}`], ['--private-key', key]]) {
        const { code, stdout, stderr } = await gdn(['wallet', 'import', ...argv])
        expect(code).toBe(2)
        expect(textHolds(stdout + stderr, key)).toBe(false)
      }
      expect(textHolds(result.stderr, key)).toBe(false)
    },
  )

  test('a wallet folder that is a link', async () => {
    await mkdir(path('elsewhere'), { mode: 0o700 })
    await mkdir(path('.local/share/gdn'), { recursive: true })
    await symlink(path('elsewhere'), wallets)
    expect((await pipe(KEY)).stderr).toContain('symbolic link')
    expect(await filesOf(path('elsewhere'))).toEqual([])
  })
})

test.each([[[]], [['--debug']], [['-o', 'csv']], [['--json']]])(
  'with %j the key and its password appear in no output and no file, however the import ends',
  async (flags) => {
    const solana = generateKey('solana').privateKey.reveal()
    const words = JUNK.replace('junk', 'able')
    for (const secret of [KEY, JUNK, solana, `${KEY}0`, words, `${solana}1`]) {
      const { stdout, stderr } = await pipe(secret, ...flags)
      for (const one of [secret, KEY, PASSWORD]) expect(textHolds(stdout + stderr, one), stderr).toBe(false)
    }
    for (const one of [KEY, JUNK, solana]) expect(await filesHolding(path(''), one)).toEqual([])
    expect(await filesHolding(path('.local'), PASSWORD)).toEqual([])
  },
)

describe('gdn wallet generate --offline', () => {
  const generate = (flags: string[], more: CliOptions = {}) =>
    gdn(['wallet', 'generate', '--offline', '--password-file', path('pw'), ...flags], more)

  test('stores a new key, without a request, a server or an API key', async () => {
    const service = await walletService()
    const { GDN_API_KEY: _none, ...env } = { ...options.env, GDN_API_KEY: '', GDN_BASE_URL: service.url }
    const { code, stdout, stderr } = await generate(['--name', 'alice', '--json', '--show-private-key'], { env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const { address, name, private_key } = JSON.parse(stdout)
    const opened = await openWallet('alice')
    expect([name, opened.address, opened.privateKey.reveal()]).toEqual(['alice', address.toLowerCase(), private_key])
    expect((await stat(join(wallets, 'alice.json'))).mode & 0o777).toBe(0o600)
    expect([service.asked, service.calls]).toEqual([[], []])
    expect(await filesHolding(path(''), private_key)).toEqual([])
  })

  test('creates several wallets with different keys, of EVM and of Solana', async () => {
    const evm = JSON.parse((await generate(['--count', '3', '--name', 'buyer', '--json'])).stdout)
    const solana = JSON.parse((await generate(['--count', '2', '-b', 'solana-testnet', '--json'])).stdout)
    const addresses = [...evm, ...solana].map(({ address }: { address: string }) => address)
    expect(new Set(addresses).size).toBe(5)
    expect(evm.map(({ name }: { name: string }) => name)).toEqual(['buyer-1', 'buyer-2', 'buyer-3'])
    expect(solana.map(({ name }: { name: string }) => name)).toEqual(['wallet-1', 'wallet-2'])
    for (const { address } of solana) expect(address).toMatch(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/)
  })

  test('rejects a taken name, and stores none of several', async () => {
    await gdn(['wallet', 'add', 'x-2', OWNER])
    const { code, stderr } = await generate(['--name', 'x', '--count', '3'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('@x-2 already exists')])
    expect(await filesOf(wallets)).toEqual([])
  })

  test.each([['--local'], ['--base-url=https://a.test'], ['--email=me@example.com'], ['--valid-for=1h']])(
    'rejects %s, which is for a server',
    async (flag) => {
      const { code, stderr } = await generate([flag, '--json'])
      expect(code).toBe(2)
      expect(JSON.parse(stderr).error.message).toBe(
        `${flag.split('=')[0]}: can't be used with --offline, which sends nothing to a server`,
      )
    },
  )

  test('is required for --blockchain', async () => {
    const result = await gdn(['wallet', 'generate', '-b', 'solana', '--json'])
    expect(errorOf(result)).toMatchObject({
      message: '--blockchain: requires --offline: the service generates only EVM wallets',
    })
  })
})

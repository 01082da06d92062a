/** @module-tag slow */
import { scryptSync as nodeScrypt } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Wallet as OtherWallet } from '@ethereumjs/wallet'
import { scryptSync, Wallet } from 'ethers'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { Secret } from '../../src/core/secret.ts'
import { openKeystore } from '../../src/keystore/open.ts'
import { until } from '../helpers/backend.ts'
import { type GdnHome, makeHome } from '../helpers/gdn.ts'
import { filesHolding } from '../helpers/leaks.ts'
import { serve } from '../helpers/served-backend.ts'
import { createSmallDisk } from '../helpers/small-disk.ts'
import { atTerminal, CTRL_C, HAS_PTY } from '../helpers/terminal.ts'
import { answerOf, type WalletServiceOptions, walletService } from '../helpers/wallet-service.ts'
import { LIGHT } from '../keystore/vectors.ts'

// The one of ethers is in JavaScript, and takes seconds.
scryptSync.register((password, salt, N, r, p, length) =>
  nodeScrypt(password, salt, length, { N, r, p, maxmem: 2 ** 30 }),
)

const PASSWORD = 'correct horse'
const MNEMONIC = 'test test test test test test test test test test test junk'
const MNEMONIC_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const ENTER = '\r'

let home: GdnHome
let wallets: string

beforeEach(async () => {
  home = await makeHome()
  onTestFinished(() => home.remove())
  wallets = join(home.dir, 'data', 'gdn', 'wallets')
  await writeFile(join(home.dir, 'pw'), `${PASSWORD}\n`, { mode: 0o600 })
})

const found = async () => (await readdir(wallets).catch(() => [])).sort()

/** A service whose response waits until the test releases it. */
async function slow(more: WalletServiceOptions = {}) {
  let go = () => {}
  let arrived = () => {}
  const going = new Promise<void>((resolve) => {
    go = resolve
  })
  const arrival = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const service = await walletService({
    ...more,
    answer(response, wallet) {
      arrived()
      void going.then(() => response.writeHead(200).end(JSON.stringify(answerOf(wallet))))
    },
  })
  return { service, arrival, go }
}

const argvOf = (url: string, ...more: string[]) => [
  ...['wallet', 'generate', '--base-url', url, '--email', 'me@example.com', '--name', 'alice', ...more],
]
const withFile = () => ['--password-file', join(home.dir, 'pw')]
const KEY = { GDN_API_KEY: 'k' }

describe('with our own backend', () => {
  test('a wallet is generated, opens in ethers, and owns an NFT that is minted to its name', {
    tags: ['promise'],
  }, async () => {
    const { url } = await home.json<{ url: string }>(['local', 'start'])
    onTestFinished(async () => void (await home.run(['local', 'stop'])))
    expect(url).toContain('127.0.0.1')
    const made = await home.json<{ address: string; file: string; private_key: string }>([
      'wallet',
      'generate',
      '--local',
      '--name',
      'alice',
      '--show-private-key',
      ...withFile(),
    ])
    const opened = Wallet.fromEncryptedJsonSync(await readFile(made.file, 'utf8'), PASSWORD)
    expect([opened.address, opened.privateKey]).toEqual([made.address, made.private_key])
    expect(await filesHolding(home.dir, made.private_key)).toEqual([])
    const { contract_address } = await home.json<{ contract_address: string }>([
      'collection',
      'create',
      '--local',
      '-b',
      'polygon',
      '--name',
      'Tide',
      '--wallet',
      '@alice',
    ])
    const nft = await home.json<{ receiver_wallet_address: string }>([
      'nft',
      'mint',
      '--local',
      '-b',
      'polygon',
      '-c',
      contract_address,
      '--title',
      'Dawn',
      '--receiver',
      '@alice',
    ])
    expect(nft.receiver_wallet_address).toBe(made.address)
  })
})

test('several wallets are generated if each signed URL works once', async () => {
  const backend = await serve(join(home.dir, 'serve'), ['--single-use-urls']).ready
  onTestFinished(async () => void (await backend.end('SIGTERM')))
  const env = { GDN_BASE_URL: backend.url, GDN_API_KEY: backend.apiKey }
  const argv = ['wallet', 'generate', '--email', 'local@example.com', '--count', '2', '--name', 'buyer', ...withFile()]
  const made = await home.json<{ address: string }[]>(argv, { env })
  expect(new Set(made.map(({ address }) => address)).size).toBe(2)
  expect(await found()).toEqual(['buyer-1.json', 'buyer-2.json'])
})

describe('on a terminal', () => {
  beforeEach(({ skip }) => skip(!HAS_PTY, 'needs a pseudo-terminal: script of util-linux is not installed'))

  const line = (url: string) => argvOf(url).join(' ')

  test('prompts twice for the password without an echo, and again from an empty field if they differ', async () => {
    const service = await walletService()
    const terminal = atTerminal(line(service.url), { ...home.env, ...KEY }, join(home.dir, 'out'))
    await terminal.showsNow('Password for the keystore')
    terminal.type(`short${ENTER}`)
    await terminal.showsNow('at least 8 characters')
    terminal.type(`${PASSWORD}${ENTER}`)
    await terminal.showsNow('Repeat the password')
    expect(service.asked).toEqual([])
    terminal.type(`correct hors${ENTER}`)
    await terminal.showsNow('differ')
    terminal.type(`${PASSWORD}${ENTER}`)
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(0)
    expect(screen).not.toContain(PASSWORD.slice(0, 8))
    const text = await readFile(join(wallets, 'alice.json'), 'utf8')
    expect((await openKeystore(text, new Secret(PASSWORD), 'alice')).privateKey.reveal()).toBe(`0x${service.keys[0]}`)
  })

  test.each(['first', 'second'])('Ctrl-C at the %s prompt sends no request, and leaves no file', async (which) => {
    const service = await walletService()
    const terminal = atTerminal(line(service.url), { ...home.env, ...KEY })
    await terminal.showsNow('Password for the keystore')
    if (which === 'second') {
      terminal.type(`${PASSWORD}${ENTER}`)
      await terminal.showsNow('Repeat the password')
    }
    terminal.type(CTRL_C)
    expect((await terminal.end()).code).toBe(3)
    expect(service.asked).toEqual([])
    expect(await found()).toEqual([])
  })

  test('gdn wallet import prompts for a key without an echo, and again from an empty field if it is invalid', async () => {
    const terminal = atTerminal('wallet import --name alice', home.env)
    await terminal.showsNow('Private key or mnemonic')
    terminal.type(`${MNEMONIC.replace('junk', 'jumk')}${ENTER}`)
    await terminal.showsNow('word 12 of 12')
    terminal.type(`${MNEMONIC}${ENTER}`)
    await terminal.showsNow('Password for the keystore')
    terminal.type(`${PASSWORD}${ENTER}`)
    await terminal.showsNow('Repeat the password')
    terminal.type(`${PASSWORD}${ENTER}`)
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(0)
    expect(screen).toContain('Use @alice instead of its address')
    for (const secret of ['test test', 'junk', 'jumk', PASSWORD]) expect(screen).not.toContain(secret)
    const text = await readFile(join(wallets, 'alice.json'), 'utf8')
    expect((await openKeystore(text, new Secret(PASSWORD), 'alice')).privateKey.reveal()).toBe(MNEMONIC_KEY)
  })

  test('Ctrl-C at the prompt for a key leaves no file', async () => {
    const terminal = atTerminal('wallet import', home.env)
    await terminal.showsNow('Private key or mnemonic')
    terminal.type(`${MNEMONIC}${CTRL_C}`)
    const { code, screen } = await terminal.end()
    expect([code, await found()]).toEqual([3, []])
    expect(screen).not.toContain('junk')
  })

  test('Ctrl-C during the request waits for the response and says so, and the key is saved', async () => {
    const { service, arrival, go } = await slow()
    const terminal = atTerminal(argvOf(service.url, ...withFile()).join(' '), { ...home.env, ...KEY })
    // Its standard input is a terminal, but the password comes from the file.
    await arrival
    terminal.type(CTRL_C)
    await terminal.showsNow('the only copy of a key')
    go()
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(0)
    expect(await found()).toEqual(['alice.json'])
  })
})

describe('signals', () => {
  test('a second signal abandons the request and reports the key as lost', async () => {
    const { service, arrival } = await slow()
    const running = home.start(argvOf(service.url, ...withFile()), { env: KEY })
    await arrival
    let said = ''
    running.stderr?.on('data', (chunk: Buffer) => {
      said += chunk.toString()
    })
    running.kill('SIGINT')
    await until(
      () => said,
      (all) => all.includes('the only copy of a key'),
    )
    expect(running.exitCode).toBeNull()
    running.kill('SIGINT')
    const { exitCode, stderr } = await running
    expect([exitCode, stderr]).toEqual([9, expect.stringContaining('was lost')])
    expect(service.calls).toHaveLength(1)
    expect(await found()).toEqual([])
  })

  test('SIGKILL leaves no file that looks like a wallet, and nothing that blocks the next command', async () => {
    const { service, arrival } = await slow()
    const running = home.start(argvOf(service.url, ...withFile()), { env: KEY })
    await arrival
    running.kill('SIGKILL')
    await running
    expect(await found()).toEqual(['.alice.part'])
    expect(await home.json(['wallet', 'list'])).toEqual([])
    const other = await walletService()
    const { code, stderr } = await home.run(argvOf(other.url, ...withFile()), { env: KEY })
    expect(code, stderr).toBe(0)
    expect(await found()).toEqual(['alice.json'])
  })
})

test('a disk that becomes full during the request doesn’t lose the key', async ({ skip }) => {
  const disk = await createSmallDisk(256)
  if (typeof disk === 'string') return skip(disk)
  onTestFinished(() => disk.remove())
  const { service, arrival, go } = await slow()
  const env = { ...KEY, XDG_DATA_HOME: disk.path }
  const running = home.start(argvOf(service.url, ...withFile()), { env })
  await arrival
  await disk.fill()
  go()
  const { exitCode, stderr } = await running
  expect(exitCode, String(stderr)).toBe(0)
  const text = await readFile(join(disk.path, 'gdn', 'wallets', 'alice.json'), 'utf8')
  expect((await openKeystore(text, new Secret(PASSWORD), 'alice')).privateKey.reveal()).toBe(`0x${service.keys[0]}`)
})

// OpenSSL rejects these parameters, which the first published vector also has: another scrypt is loaded for them.
test('the built gdn opens a keystore with r=1', async () => {
  const key = Buffer.from(LIGHT.key, 'hex')
  const text = await OtherWallet.fromPrivateKey(key).toV3String(PASSWORD, { kdf: 'scrypt', n: 65_536, r: 1, p: 1 })
  await writeFile(join(home.dir, 'other.json'), text, { mode: 0o600 })
  const argv = ['wallet', 'export', './other.json', '--format', 'private-key', '--to', '-', ...withFile()]
  expect(await home.run(argv)).toMatchObject({ code: 0, stdout: `0x${LIGHT.key}\n` })
})

test('of two processes with the same name one fails with an error, and no key is lost', async () => {
  const { service, arrival, go } = await slow()
  const first = home.start(argvOf(service.url, ...withFile()), { env: KEY })
  await arrival
  const second = await home.run(argvOf(service.url, ...withFile()), { env: KEY })
  expect([second.code, second.stderr]).toEqual([2, expect.stringContaining('another gdn process is creating @alice')])
  go()
  expect((await first).exitCode).toBe(0)
  expect(service.calls).toHaveLength(1)
  expect(await found()).toEqual(['alice.json'])
})

test('processes that import one key under one name store it once', async () => {
  const argv = ['wallet', 'import', '--name', 'alice', ...withFile()]
  const results = await Promise.all(Array.from({ length: 4 }, () => home.run(argv, { input: `${MNEMONIC_KEY}\n` })))
  expect(results.filter(({ stdout }) => stdout.includes('imported'))).toHaveLength(1)
  for (const { code, stderr } of results) {
    expect([0, 2]).toContain(code)
    if (code === 2) expect(stderr).toContain('another gdn process is creating @alice')
  }
  expect(await found()).toEqual(['alice.json'])
  expect((await home.run(argv, { input: MNEMONIC })).stderr).toContain('@alice already has this key.')
})

test('a killed import leaves nothing that blocks the next one', async () => {
  const argv = ['wallet', 'import', '--name', 'alice', ...withFile()]
  const running = home.start(argv, { input: MNEMONIC })
  await until(found, (names) => names.join() === '.alice.part')
  running.kill('SIGKILL')
  await running
  expect(await home.json(['wallet', 'list'])).toEqual([])
  expect(await home.run(argv, { input: MNEMONIC })).toMatchObject({ code: 0 })
  expect(await found()).toEqual(['alice.json'])
})

test('eight processes that add one name save one address, and the others are rejected', async () => {
  const addresses = Array.from({ length: 8 }, () => Wallet.createRandom().address)
  const results = await Promise.all(addresses.map((address) => home.run(['wallet', 'add', 'bob', address])))
  const [winner = -1] = results.flatMap(({ code }, i) => (code === 0 ? [i] : []))
  expect(await home.json(['wallet', 'list'])).toMatchObject([{ name: 'bob', address: addresses[winner] }])
  const rejected = results.filter((_, i) => i !== winner)
  for (const { code, stderr } of rejected) {
    expect([code, stderr]).toEqual([2, expect.stringContaining(`@bob already exists: ${addresses[winner]}`)])
  }
})

/** @module-tag slow */
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { KnownCollection } from '../../src/state/known-collections.ts'
import { CSV, service, TARGET } from '../cli/batch/drop.ts'
import { announce, fakeApi } from '../cli/fake-api.ts'
import { cli } from '../cli/harness.ts'
import { OWNER } from '../helpers/addresses.ts'
import { startEnsNode } from '../helpers/ens-node.ts'
import { type GdnHome, makeHome } from '../helpers/gdn.ts'
import { listenLocally } from '../helpers/http-server.ts'
import { enterCollections } from '../helpers/known-collections.ts'
import { filesHolding } from '../helpers/leaks.ts'
import { atTerminal, CTRL_C, HAS_PTY } from '../helpers/terminal.ts'

const KEY = 'gdn_0123456789abcdefghijklmnopqrstuvwxyz'
const CONTRACT = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const OTHER = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
const ENTER = '\r'
const ERASE_LINE = '\u0015'

beforeEach(({ skip }) => skip(!HAS_PTY, 'needs a pseudo-terminal: script of util-linux is not installed'))

async function home(): Promise<GdnHome> {
  const made = await makeHome()
  onTestFinished(() => made.remove())
  return made
}

/** A server that knows one key and nothing else of the API. */
async function server(): Promise<string> {
  const listening = createServer((request, response) => {
    const isKnown = request.headers['x-api-key'] === KEY
    const requests = { nft_gdn_id: 'x', receiver_wallet_address: OWNER, blockchain: 'polygon' }
    response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' })
    const refusal = { error: { title: 'Unauthorized', message: 'unknown key' } }
    response.end(JSON.stringify(isKnown ? { requests, response: { isgdnnft: false } } : refusal))
  })
  const { url, close } = await listenLocally(listening)
  onTestFinished(close)
  return url
}

const request = async (file: string) => JSON.parse(await readFile(file, 'utf8')).body

async function knows(dir: string, name: string, contract: string, blockchain: KnownCollection['blockchain']) {
  const known = { transaction_gdn_id: name, contract_address: contract, name, blockchain }
  await enterCollections(join(dir, 'state', 'gdn'), { ...known, wallet_address: OWNER })
}

describe('gdn auth login', () => {
  test('prompts for the key without an echo, and saves a key that works', async () => {
    const { env, dir } = await home()
    const url = await server()
    const terminal = atTerminal(`auth login --base-url ${url}`, env)
    await terminal.showsNow(`API key for ${url}`)
    terminal.type(`\u0014${KEY}\u0014`)
    terminal.type(ENTER)
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(0)
    expect(screen).not.toContain(KEY.slice(0, 12))
    expect(await filesHolding(dir, KEY)).toEqual([join(dir, 'config', 'gdn', 'credentials.json')])
  })

  test('saves nothing when Ctrl-C ends the prompt', async () => {
    const { env, dir } = await home()
    const terminal = atTerminal('auth login --base-url https://a.test --no-check', env)
    await terminal.showsNow('API key for')
    terminal.type(KEY)
    terminal.type(CTRL_C)
    expect((await terminal.end()).code).toBe(3)
    expect(await filesHolding(dir, KEY)).toEqual([])
  })
})

describe('gdn init', () => {
  test('prompts for server, URL, key, blockchain and wallet, and repeats the prompt after invalid input', async () => {
    const { env, dir } = await home()
    const url = await server()
    const terminal = atTerminal('init', env)
    await terminal.showsNow('Which server?')
    terminal.type(ENTER)
    await terminal.showsNow('URL of the service')
    terminal.type(`http://clear.test${ENTER}`)
    await terminal.showsNow('clear text')
    terminal.type(`${ERASE_LINE}${url}${ENTER}`)
    await terminal.showsNow('API key for')
    terminal.type(`wrong-key${ENTER}`)
    // The prompt is shown again: before that, the terminal itself would echo the input.
    await terminal.showsNow(/unknown key.*API key for/s)
    terminal.type(`${KEY}${ENTER}`)
    await terminal.showsNow('Default blockchain')
    terminal.type('amoy')
    await terminal.showsNow('a testnet')
    terminal.type(ENTER)
    await terminal.showsNow('Default wallet')
    terminal.type(`${OWNER}${ENTER}`)
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(0)
    expect(screen).toMatch(/The server and the key\s+work\./)
    expect(screen).not.toContain(KEY.slice(0, 12))
    expect(JSON.parse(await readFile(join(dir, 'config', 'gdn', 'config.json'), 'utf8'))).toEqual({
      profile: 'default',
      profiles: { default: { base_url: url, blockchain: 'polygon-amoy', wallet: OWNER } },
    })
  })
})

describe('spending on a public network of a backend on this machine', () => {
  const argv = (url: string) => `nft mint --title Dawn --receiver ${OWNER} ${TARGET.join(' ')} --base-url ${url}`

  test.each([
    ['n', 3, 0],
    ['y', 0, 1],
  ])('prompts, and sends nothing before the answer: %s', async (answer, code, minted) => {
    const { env } = await home()
    const api = await fakeApi({ ...(minted === 0 ? {} : service()), '*': () => ({ status: 404, body: {} }) })
    announce('base')
    const terminal = atTerminal(argv(api.url), { ...env, GDN_API_KEY: KEY })
    await terminal.showsNow(/y\/N/i)
    await terminal.shows('a public')
    expect(api.bodies('createnft')).toEqual([])
    terminal.type(`${answer}${ENTER}`)
    const end = await terminal.end()
    expect(end.code, end.screen).toBe(code)
    expect(api.bodies('createnft')).toHaveLength(minted)
  })

  test('is not answered by keys typed before it', async () => {
    const { env } = await home()
    let terminal: ReturnType<typeof atTerminal> | null = null
    const typing = () => {
      terminal?.type(`y${ENTER}`)
      return { status: 404, body: {} }
    }
    const api = await fakeApi({ getfees: typing, '*': () => ({ status: 404, body: {} }) })
    announce('base')
    terminal = atTerminal(argv(api.url), { ...env, GDN_API_KEY: KEY })
    await terminal.showsNow(/y\/N/i)
    terminal.type(ENTER)
    const { code, screen } = await terminal.end()
    expect(api.bodies('createnft'), screen).toEqual([])
    expect(code, screen).toBe(3)
  })

  test('does not prompt for its embedded chains', async () => {
    const { env } = await home()
    const api = await fakeApi({ ...service(), '*': () => ({ status: 404, body: {} }) })
    announce('polygon')
    const { code, screen } = await atTerminal(argv(api.url), { ...env, GDN_API_KEY: KEY }).end()
    expect(code, screen).toBe(0)
  })
})

describe('identical rows', () => {
  const SECOND = 'Mint a second NFT for this row?'

  test.each([
    ['batch mint', [SECOND], 'n', 3, 0],
    ['batch mint', [SECOND], 'y', 0, 3],
    ['nft mint -f', [SECOND], 'n', 3, 0],
    ['nft mint -f', [SECOND], 'y', 0, 3],
    ['apply', ['Apply 3 changes', SECOND], 'n', 3, 0],
    ['apply', ['Apply 3 changes', SECOND], 'y', 0, 3],
  ])('are named, and minted only after a prompt: %s, %s, %s', async (command, questions, answer, code, minted) => {
    const { env, dir } = await home()
    const manifest = join(dir, 'drop.csv')
    await writeFile(manifest, `${CSV}Dawn,first,${OWNER}\n`)
    const api = await fakeApi(minted === 0 ? {} : service())
    const argv = `${command} '${manifest}' ${TARGET.join(' ')} --base-url ${api.url}`
    const terminal = atTerminal(argv, { ...env, GDN_API_KEY: KEY })
    for (const question of questions) {
      await terminal.showsNow(question)
      await terminal.showsNow('(y/N)')
      expect(api.bodies('createnft')).toEqual([])
      terminal.type(`${question === SECOND ? answer : 'y'}${ENTER}`)
    }
    const end = await terminal.end()
    expect(end.code, end.screen).toBe(code)
    expect(end.screen).toContain('4: is identical to line 2')
    const bodies = api.bodies('createnft') as { metadata: object[] }[]
    expect(bodies.flatMap(({ metadata }) => metadata)).toHaveLength(minted)
  })
})

describe('missing arguments are prompted for', () => {
  test('batch status: a run from the list of this machine, with its server and manifest', async () => {
    const { env, dir } = await home()
    const { url } = await fakeApi(service())
    for (const name of ['low', 'high']) {
      await writeFile(join(dir, `${name}.csv`), CSV)
      const argv = ['batch', 'mint', join(dir, `${name}.csv`), ...TARGET, '--base-url', url, '--again']
      expect((await cli(argv, { env: { ...env, GDN_API_KEY: KEY } })).code).toBe(0)
    }
    const out = join(dir, 'out')
    const terminal = atTerminal('batch status', env, out)
    await terminal.showsNow('Run')
    await terminal.showsNow(`on polygon of ${url}`)
    terminal.type('low')
    // The path is broken between lines where it is long.
    await terminal.showsNow(/l\s*o\s*w\s*\.\s*c\s*s\s*v/)
    terminal.type(ENTER)
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(0)
    expect(await readFile(out, 'utf8')).toMatch(/^run\tlow-/)
  })

  test('collection create: name, blockchain, wallet, and on Solana description and image', async () => {
    const { env, dir } = await home()
    const out = join(dir, 'out')
    const terminal = atTerminal('collection create --dry-run', env, out)
    await terminal.showsNow('Name of the collection')
    terminal.type(`Tide${ENTER}`)
    await terminal.showsNow('Blockchain')
    terminal.type('solana-t')
    await terminal.showsNow('a testnet')
    terminal.type(ENTER)
    await terminal.showsNow('Wallet that owns the collection')
    terminal.type(`${OWNER}${ENTER}`)
    await terminal.showsNow('>')
    const wallet = '4Nd1mYQzvgV8Vr3Z3nYb7pD6T8K2jF2eqWxY1vC4mQ5R'
    terminal.type(`${ERASE_LINE}${wallet}${ENTER}`)
    await terminal.showsNow('Description')
    terminal.type(`Low${ENTER}`)
    await terminal.showsNow('URL of the image')
    terminal.type(`https://a.test/x.png${ENTER}`)
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(0)
    expect(await request(out)).toMatchObject({
      name: 'Tide',
      blockchain: 'solana-testnet',
      wallet_address: wallet,
      description: 'Low',
      image: 'https://a.test/x.png',
    })
  })

  const NAMED = `collection create --name Tide -b polygon --wallet ${OWNER} --dry-run`

  test('collection create: what the API may do, no by default, what is permanent before what is not', async () => {
    const { env } = await home()
    const answered = async (keys: string) => {
      const terminal = atTerminal(NAMED, env, '/dev/tty')
      for (const question of ['Let the API update the metadata', 'Let the API burn', 'Let the API transfer']) {
        await terminal.showsNow(question)
        terminal.type(keys)
      }
      const { code, screen } = await terminal.end()
      expect(code, screen).toBe(0)
      return screen
    }
    const yes = await answered(`y${ENTER}`)
    for (const right of ['dynamic', 'enable_burn', 'enable_transfer']) expect(yes).toContain(`"${right}": true`)
    const no = await answered(ENTER)
    expect(no).toContain('"enable_transfer": false')
    for (const right of ['dynamic', 'enable_burn']) expect(no).not.toContain(`"${right}"`)
  })

  test('collection create rejects a local image and a receiver without a royalty before it prompts', async () => {
    const { env } = await home()
    for (const [flags, message] of [
      ['--image cover.png', /--image: .*gdn collection set <address> --image <file>/s],
      [`--royalty-receiver ${OTHER}`, /--royalty-receiver: requires a royalty/],
    ] as const) {
      const { code, screen } = await atTerminal(`${NAMED} ${flags}`, env, '/dev/tty').end()
      expect(code, screen).toBe(2)
      expect(screen).toMatch(message)
      expect(screen).not.toContain('Let the API')
    }
  })

  test.each([
    ['flags for it', `${NAMED} --dynamic --enable-burn --no-enable-transfer`, '/dev/tty'],
    ['--no-input', `${NAMED} --no-input`, '/dev/tty'],
    ['--yes', `${NAMED} --yes`, '/dev/tty'],
    ['a locked collection', `${NAMED} --locked --dynamic --enable-burn`, '/dev/tty'],
    ['captured output', NAMED, '/dev/null'],
  ])('collection create does not prompt for API transfers with %s', async (_what, line, stdout) => {
    const { env } = await home()
    const { code, screen } = await atTerminal(line, env, stdout).end()
    expect(code, screen).toBe(0)
    expect(screen).not.toContain('Let the API')
  })

  test('collection create rejects an address with a wrong checksum before it prompts', async () => {
    const { env } = await home()
    const line = NAMED.replace(
      OWNER,
      OWNER.replace(/[a-f](?=[^a-f]*$)/, (digit) => digit.toUpperCase()),
    )
    const { code, screen } = await atTerminal(line, env, '/dev/tty').end()
    expect(code, screen).toBe(2)
    expect(screen).toMatch(/has a wrong\s+checksum/)
    expect(screen).not.toContain('Let the API')
  })

  test('nft mint: title, description, image, a collection from the list, and the receiver', async () => {
    const { env, dir } = await home()
    await knows(dir, 'High tide', CONTRACT, 'polygon')
    await knows(dir, 'Low tide', OTHER, 'avalanche')
    const out = join(dir, 'out')
    const terminal = atTerminal('nft mint --base-url https://a.test --dry-run', env, out)
    await terminal.showsNow('Title')
    terminal.type(`Dawn${ENTER}`)
    await terminal.showsNow('Description')
    terminal.type(ENTER)
    await terminal.showsNow('Image')
    terminal.type(`not-there.png${ENTER}`)
    await terminal.showsNow("doesn't exist")
    terminal.type(`${ERASE_LINE}${ENTER}`)
    await terminal.showsNow('Collection')
    terminal.type('low')
    // The last collection is selected already: only the narrowed list shows that the name was read.
    await terminal.showsNow(/low\r\n\S+ Low tide\r\n\r\n/)
    terminal.type(ENTER)
    await terminal.showsNow('Receiver')
    terminal.type(`${OWNER}${ENTER}`)
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(0)
    expect(await request(out)).toMatchObject({
      contract_address: OTHER,
      blockchain: 'avalanche',
      receiver_wallet_address: OWNER,
      metadata: [{ title: 'Dawn', description: '', file_fields: [] }],
    })
  })

  test('nft grant: the sender; for an unknown collection its address, then its blockchain', async () => {
    const { env, dir } = await home()
    const out = join(dir, 'out')
    const grant = `nft grant --base-url https://a.test --title Dawn --receiver ${OWNER} --dry-run`
    const terminal = atTerminal(grant, env, out)
    await terminal.showsNow('Address of the collection')
    terminal.type(ENTER)
    await terminal.showsNow('gdn collection create')
    terminal.type(`x${ENTER}`)
    await terminal.showsNow('neither')
    terminal.type(`${ERASE_LINE}${CONTRACT.replace('5', '6')}${ENTER}`)
    await terminal.showsNow('checksum')
    terminal.type(`${ERASE_LINE}${CONTRACT}${ENTER}`)
    await terminal.showsNow('Blockchain of')
    terminal.type('bnb-t')
    await terminal.showsNow('a testnet')
    terminal.type(ENTER)
    await terminal.showsNow('First owner')
    terminal.type(`${OTHER}${ENTER}`)
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(0)
    expect(await request(out)).toMatchObject({
      contract_address: CONTRACT,
      blockchain: 'bnb-testnet',
      sender_wallet_address: OTHER,
    })
  })

  test('nft mint: the ENS name of a receiver, which is checked at once and shown with its address', async () => {
    const { env, dir } = await home()
    const node = await startEnsNode({ 'alice.eth': { 2147483785: OTHER } })
    onTestFinished(node.close)
    const out = join(dir, 'out')
    const mint = `nft mint --base-url https://a.test -c ${CONTRACT} -b polygon --title Dawn --dry-run`
    const terminal = atTerminal(mint, { ...env, GDN_ENS_RPC_URL: node.url }, out)
    await terminal.showsNow('Receiver')
    terminal.type(`a_lice.eth${ENTER}`)
    await terminal.showsNow('not a valid ENS name')
    terminal.type(`${ERASE_LINE}Alice.eth${ENTER}`)
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(0)
    expect(screen).toContain(`alice.eth → ${OTHER}`)
    expect(await request(out)).toMatchObject({ receiver_wallet_address: OTHER })
  })

  test('nft transfer: the NFT and its new owner', async () => {
    const { env, dir } = await home()
    const out = join(dir, 'out')
    const whole = `-c ${CONTRACT} -b polygon --token-id 1 --sender ${OTHER}`
    const transfer = `nft transfer --base-url https://a.test ${whole} --dry-run`
    const terminal = atTerminal(transfer, { ...env, GDN_API_KEY: 'k' }, out)
    await terminal.showsNow('NFT to transfer')
    terminal.type(`abc${ENTER}`)
    await terminal.showsNow('New owner')
    terminal.type(`${OWNER}${ENTER}`)
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(0)
    expect(await request(out)).toMatchObject({ nft_gdn_id: 'abc', receiver_wallet_address: OWNER })
  })

  test('batch mint: the collection, if neither manifest nor flags name it', async () => {
    const { env, dir } = await home()
    await knows(dir, 'High tide', CONTRACT, 'polygon')
    await knows(dir, 'Low tide', OTHER, 'avalanche')
    const manifest = join(dir, 'drop.csv')
    await writeFile(manifest, `title,description,receiver\nDawn,First,${OWNER}\n`)
    const out = join(dir, 'out')
    const terminal = atTerminal(`batch mint '${manifest}' --base-url https://a.test --dry-run --no-lookup`, env, out)
    await terminal.showsNow('Collection')
    terminal.type('low')
    // The last collection is selected already: only the narrowed list shows that the name was read.
    await terminal.showsNow(/low\r\n\S+ Low tide\r\n\r\n/)
    terminal.type(ENTER)
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(0)
    expect(await readFile(out, 'utf8')).toContain(OTHER)
  })

  test('a collection from the list keeps its blockchain, even if another one has the same address', async () => {
    const { env, dir } = await home()
    await knows(dir, 'High tide', CONTRACT, 'polygon')
    await knows(dir, 'Low tide', CONTRACT, 'avalanche')
    const manifest = join(dir, 'drop.csv')
    await writeFile(manifest, `title,description,receiver\nDawn,First,${OWNER}\n`)
    const out = join(dir, 'out')
    const terminal = atTerminal(`batch mint '${manifest}' --base-url https://a.test --dry-run --no-lookup`, env, out)
    await terminal.showsNow('Collection')
    terminal.type('high')
    await terminal.showsNow(/high\r\n\S+ High tide\r\n\r\n/)
    terminal.type(ENTER)
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(0)
    expect(await readFile(out, 'utf8')).toContain('polygon')
  })

  test.each([
    ['--no-input', {}],
    ['', { CI: 'true' }],
    ['', { GDN_NO_INPUT: '1' }],
    ['--json', {}],
  ])('but not with "%s" and %j, where the error names the flag', async (flag, more) => {
    const { env } = await home()
    const create = atTerminal(`collection create --dry-run ${flag}`, { ...env, ...more })
    expect(await create.end()).toMatchObject({ code: 2, screen: expect.stringContaining('--name') })
    const mint = atTerminal(`nft mint --base-url https://a.test ${flag}`, { ...env, ...more })
    expect(await mint.end()).toMatchObject({ code: 2, screen: expect.stringContaining('--title') })
    const init = atTerminal(`init ${flag}`, { ...env, ...more })
    expect(await init.end()).toMatchObject({ code: 2, screen: expect.stringContaining('--hosted') })
  })
})

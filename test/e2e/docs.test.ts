/** @module-tag slow */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { beforeAll, describe, expect, test } from 'vitest'
import { whenFileDone, whenTestDone } from '../helpers/clean-up.ts'
import { HAS_PROC, noteSecondsOfHome, secondsOfChildren } from '../helpers/cpu-of-children.ts'
import { startEnsNode } from '../helpers/ens-node.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { startHttpServer } from '../helpers/http-server.ts'
import { pagesToPaste, readPage, type StandIn, shellBlocks, startReader } from '../helpers/pasted-page.ts'
import { findPostgres, type PostgresServer, startPostgres } from '../helpers/postgres-server.ts'
import { startPublicNetwork } from '../helpers/public-network.ts'
import { report } from '../helpers/seed.ts'
import { type ServedBackend, serve } from '../helpers/served-backend.ts'
import { slownessOf, startOfNode } from '../helpers/slowness.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { HAS_PTY } from '../helpers/terminal.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Pages with shell blocks that this test doesn't paste, and what runs their commands. */
const ELSEWHERE: Record<string, string> = {
  'CONTRIBUTING.md': '.ci/run installs, builds, tests and checks',
  'docs/install.md': 'test/build/install.test.ts installs the package, and the workflow of a release the executables',
  'docs/releasing.md': 'test/build/release.test.ts checks the names that it replaces',
  'examples/deploy/README.md': 'test/deploy/container.test.ts builds and starts the containers',
}

const WALLET = '0x105BA2A3D820926739b9443a81fb7ab5C531e823'
const DATABASE = 'postgres://gdn@db.example/gdn?sslmode=verify-full'

let hosted: ServedBackend
let hostedHome: string
let standIns: readonly StandIn[]
let postgres: PostgresServer | null = null
let secondsBefore = 0
/** CPU seconds of background processes, by process ID. */
const background = new Map<string, number>()
/** CPU milliseconds of a start of Node.js after each page. */
const starts: number[] = []

beforeAll(async () => {
  if (HAS_PROC) secondsBefore = await secondsOfChildren()
  hostedHome = await mkdtemp(join(tmpdir(), 'gdn-hosted-'))
  whenFileDone(() => rm(hostedHome, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }))
  hosted = await serve(hostedHome, ['--rate-limits', 'off']).ready
  whenFileDone(() => hosted.end('SIGTERM'))
  const [polygon, baseSepolia] = await Promise.all([networkOf(137, 1000), networkOf(84_532, 200)])
  const sourcify = await serviceOf({ match: 'exact_match' })
  const application = await serviceOf({})
  const ethereum = await startEnsNode({ 'alice.eth': { 2147483785: WALLET } })
  whenFileDone(ethereum.close)
  standIns = [
    // A hosted service, nodes of public networks, a service on the internet, coins from a faucet.
    ['https://api.example.com', hosted.url],
    ['https://polygon-node.example/KEY', polygon],
    ['https://base-sepolia-node.example/KEY', baseSepolia],
    ['https://ethereum-node.example/KEY', ethereum.url],
    ['https://node.example/KEY', '"$(gdn local status -o ids)/rpc/polygon"'],
    ['gdn chain verify base-sepolia', `gdn chain verify base-sepolia --sourcify-url ${sourcify}`],
    ['gdn wallet list\n', `${fundingOn(baseSepolia)}\n`],
    // An application of the reader. Here it has a private address.
    ['https://shop.example/hook', `${application}/hook`],
    // The reader gives `gdn serve` a free port.
    [' --port 4681', ''],
    ['gdn local start\n[ -s webhook', 'gdn local stop && gdn local start --allow-private-files\n[ -s webhook'],
  ]
  if (findPostgres() === null) return
  postgres = await startPostgres()
  whenFileDone(postgres.close)
})

/** Returns a shell command that gives coins to the wallets of the reader. */
const fundingOn = (url: string): string =>
  `for address in $(gdn wallet list -o ids); do curl -fsS -H content-type:application/json ${url} -d '{"jsonrpc":"2.0","id":1,"method":"anvil_setBalance","params":["'$address'","0xde0b6b3a7640000"]}'; done`

/** Starts a network with a block every `ms`, and returns its URL. */
async function networkOf(chainId: number, ms: number): Promise<string> {
  const network = await startPublicNetwork([], { chainId })
  whenFileDone(() => network.close())
  whenFileDone(network.mineEvery(ms))
  return network.url
}

/** Starts a service that returns the same for each request, and returns its URL. */
async function serviceOf(json: unknown): Promise<string> {
  const service = await startHttpServer(() => ({ json }))
  whenFileDone(service.close)
  return service.url
}

/** An empty database for each reader. */
async function withDatabase(n: number): Promise<readonly StandIn[]> {
  if (postgres === null) return standIns
  await postgres.execute(`CREATE DATABASE gdn_${n}`)
  return [...standIns, [DATABASE, postgres.url(`gdn_${n}`)]]
}

const isSoak = process.env.GDN_SOAK === '1'
const pages = (await pagesToPaste()).filter((page) => !(page in ELSEWHERE))
/** Each page alone; in the long form, all pages in several orders, so that each page follows every other one. */
const readings = isSoak ? orders(pages) : pages.map((page) => [page])

/** Returns orders in which each item is once right before every other one (Williams, 1949). */
function orders<Item>(items: readonly Item[]): Item[][] {
  const even = items.length + (items.length % 2)
  const steps = Array.from({ length: even }, (_, at) => (at % 2 === 1 ? (at + 1) / 2 : even - at / 2))
  return Array.from({ length: even }, (_, first) => steps.flatMap((step) => items[(first + step) % even] ?? []))
}

const isMissing = (reading: readonly string[]) => findPostgres() === null && reading.includes('docs/postgresql.md')

describe.concurrent('pasted from top to bottom in an empty home, every block works and leaves the clone as it is', () => {
  for (const [n, reading] of readings.entries()) {
    test.skipIf(isMissing(reading))(reading.join(', '), { timeout: reading.length * 600_000 }, async () => {
      const programs = { npm: 'exit 0', npx: 'exit 0', pass: `printf %s '${hosted.apiKey}'` }
      // The walkthrough below derives its keys with the work that keystores need.
      const reader = await startReader(programs, 'quick')
      try {
        const names = await withDatabase(n)
        const problems: string[] = []
        for (const page of reading) {
          const problem = await reader.paste(await readPage(page), names)
          if (problem !== null) problems.push(`${page}: ${problem}`)
        }
        expect(problems).toEqual([])
        expect(await reader.filesInClone()).toEqual(['examples'])
        starts.push(await startOfNode())
      } finally {
        await reader.close()
        for (const [pid, seconds] of reader.background) background.set(pid, seconds)
      }
    })
  }
})

test.skipIf(isSoak || !HAS_PROC)('all pages take at most 90 s of two processors', async () => {
  await noteSecondsOfHome(hostedHome, background)
  const ended = (await secondsOfChildren()) - secondsBefore
  const running = [...background.values()].reduce((sum, seconds) => sum + seconds, 0)
  const { startMs, slowness } = slownessOf(starts)
  report({ ended, running, startMs, slowness })
  expect((ended + running) / slowness).toBeLessThanOrEqual(180)
})

describe('in the cookbook', () => {
  const OWN_KEY = `GDN_PROFILE= GDN_BASE_URL=$URL GDN_API_KEY="$(cat game.key)"`

  /** Pastes recipes below the introduction of the cookbook. */
  async function pasteRecipes(recipes: (section: (title: string) => string) => string[]) {
    const page = await readPage('docs/cookbook-people.md')
    const [start = '', ...sections] = page.split(/^## /m)
    const section = (title: string) => sections.find((text) => text.startsWith(title)) ?? ''
    const reader = await startReader({})
    whenTestDone(reader.close)
    return await reader.paste([start, ...recipes(section)].join('\n'), standIns)
  }
  const block = (...lines: string[]) => ['```sh', ...lines, '```'].join('\n')

  test('the reward is minted once, however often its recipe is pasted, and again after a reset', async () => {
    const failure = await pasteRecipes((section) => {
      const recipe = section('Reward a player once')
      const check = block(`[ "$(${OWN_KEY} gdn nft list -b polygon -c "$(cat badges.txt)" -o ids | wc -l)" = 1 ]`)
      const pasted = [recipe, recipe, check]
      return [...pasted, block('gdn local stop', 'gdn local reset --yes', 'gdn local start'), ...pasted]
    })
    expect(failure).toBeNull()
  }, 120_000)

  test('a holder gets one NFT if a later list has the address in lower case', async () => {
    const failure = await pasteRecipes((section) => {
      const recipe = section('Airdrop')
      const later = recipe
        .replace('$OWNER $PLAYER', '$PLAYER $OWNER | tr A-Z a-z')
        .replace(/^export GDN_CONTRACT=.*$/m, '')
      return [recipe, later, block('[ "$(gdn nft list -o ids | wc -l)" = 2 ]')]
    })
    expect(failure).toBeNull()
  }, 120_000)
})

test.skipIf(!HAS_PTY)(
  'the walkthrough on Base mainnet prompts before each command that spends, and ends verified',
  {
    timeout: 600_000,
  },
  async () => {
    const [, walkthrough = ''] = /^(.*?)^## EVM networks$/ms.exec(await readPage('docs/public-networks.md')) ?? []
    const base = await networkOf(8453, 200)
    const reader = await startReader({})
    whenTestDone(reader.close)
    const nonceOf = async (keystore: string) => {
      const { address } = JSON.parse(await readFile(join(reader.home, 'base-drop', keystore), 'utf8'))
      const params = [`0x${address.replace(/^0x/, '')}`, 'pending']
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getTransactionCount', params })
      const headers = { 'content-type': 'application/json' }
      const { result } = (await (await fetch(base, { method: 'POST', headers, body })).json()) as { result: string }
      return Number(result)
    }
    const prompts: [question: string, admin: number, operator: number][] = []
    const onPrompt = async (question: string) => {
      prompts.push([question, await nonceOf('admin.json'), await nonceOf('data/operator.json')])
    }
    const text = walkthrough.replaceAll('base-sepolia', 'base').replaceAll(' --yes', '')
    const names: StandIn[] = [
      ['https://base-node.example/KEY', base],
      ['gdn wallet list\n', `${fundingOn(base)}\n`],
    ]
    expect(await reader.paste(text, names, onPrompt)).toBeNull()
    const setUp = await nonceOf('admin.json')
    expect(prompts).toEqual([
      [expect.stringContaining('base'), 0, 0],
      [expect.stringContaining('Create'), setUp, 0],
      [expect.stringContaining('Mint'), setUp, 1],
    ])
    expect(setUp).toBeGreaterThan(0)

    // A second pass generates no new keys, although the walkthrough deleted the copy of the admin's keystore.
    const keystore = await readFile(join(reader.home, 'base-drop', 'admin.json'), 'utf8')
    const [firstBlock = ''] = text.split('`gdn wallet list` shows')
    expect(await reader.paste(firstBlock, names.slice(0, 1))).toBeNull()
    expect(await readFile(join(reader.home, 'base-drop', 'admin.json'), 'utf8')).toBe(keystore)
    expect(await readdir(join(reader.home, '.local/share/gdn/wallets'))).not.toContain('admin.json')
  },
)

test('the pages that are tested elsewhere have blocks', async () => {
  expect(await pagesToPaste()).toEqual(expect.arrayContaining(Object.keys(ELSEWHERE)))
})

test.each(pages)('%s says what the names in its blocks stand for', async (page) => {
  const text = await readPage(page)
  const prose = text.replaceAll(/^ *```.*?^ *```$/gms, '')
  const named = shellBlocks(text)
    .join('')
    .match(/(?<=(?:https|s3):\/\/)[\w.-]*\.example\b|postgres:\/\/[^\s']+|s3:\/\/[\w/-]+|\bpass gdn\b|\bnpm test\b/g)
  expect([...new Set(named ?? [])].filter((name) => !prose.includes(name))).toEqual([])
})

// The readers above give `gdn serve` a free port, which hides that its own is in use.
test.each(pages)('%s never starts a second backend on the default port', async (page) => {
  const lines = shellBlocks(await readPage(page))
    .join('')
    .split('\n')
  const started = lines.filter((line) => /^gdn (local st|serve)/.test(line) && !line.includes('--port'))
  const clashing = started.filter((line, i) => line.startsWith('gdn serve') && started[i - 1] === 'gdn local start')
  expect(clashing).toEqual([])
})

/** Compiles the TypeScript of a page against the built package. Returns what runs the result. */
async function compile(page: string, values: readonly StandIn[] = []) {
  const folder = await temporaryFolder('gdn-project-')
  await cp(join(root, 'examples'), join(folder, 'examples'), { recursive: true })
  await mkdir(join(folder, 'node_modules'))
  await symlink(root, join(folder, 'node_modules/gdn'))
  const blocks = [...(await readPage(page)).matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block = '']) => block)
  const source = values.reduce((all, [from, to]) => all.replaceAll(from, to), blocks.join('\n'))
  await writeFile(join(folder, 'page.mts'), source)
  const resolution = ['--module', 'nodenext', '--target', 'es2023', '--outDir', folder]
  const types = ['--strict', '--noImplicitReturns', '--types', 'node', '--typeRoots', join(root, 'node_modules/@types')]
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const run = (script: string, ...argv: string[]) =>
    execa(process.env.GDN_TEST_NODE || process.execPath, [script, ...argv], {
      ...{ cwd: folder, extendEnv: false, reject: false, stdin: 'ignore', all: true },
      env: { HOME: folder, PATH: process.env.PATH, GDN_BASE_URL: hosted.url, GDN_API_KEY: hosted.apiKey },
    })
  expect((await run(tsc, ...resolution, ...types, 'page.mts')).all).toBe('')
  return async () => await run('page.mjs')
}

/** Compiles and runs the TypeScript of a page. Returns the lines that it prints. */
async function runTypeScript(page: string, values: readonly StandIn[]): Promise<string[]> {
  const run = await compile(page, values)
  const { exitCode, all } = await run()
  expect(exitCode, all).toBe(0)
  return all.split('\n')
}

test.each(['docs/webhooks.md', 'docs/webhooks-reference.md'])('the TypeScript of %s compiles', async (page) => {
  await compile(page)
})

test('the TypeScript of docs/from-a-script.md works', async () => {
  expect(await runTypeScript('docs/from-a-script.md', [])).toContain("[ 'deployed' ]")
})

test('the TypeScript of docs/client.md works', async () => {
  const made = await gdnAt(hosted, hostedHome).json<{ contract_address: string }>(
    ...['collection', 'create', '-b', 'polygon', '--name', 'Docs', '--wallet', WALLET, '--enable-transfer'],
  )
  const printed = await runTypeScript('docs/client.md', [
    ['https://api.example.com', hosted.url],
    ['process.env.SHOP_API_KEY', 'process.env.GDN_API_KEY'],
    ['0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811', made.contract_address],
  ])
  expect(printed.join()).toMatch(/\[ '(initiated|deployed)' \]/)
  expect(printed).toContain('invalid_input nft_gdn_ids must have at least one ID nft_gdn_ids')
  expect(printed.join()).toContain('Tidal Hours 00: Low Moon')
  expect(printed).toContain("[ 'deployed: order 42' ]")
  expect(printed).toContain('deployed: order 42 transferred')
})

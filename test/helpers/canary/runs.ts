import { randomBytes } from 'node:crypto'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { pngNamed } from '../images.ts'
import { seededFrom } from '../seed.ts'
import type { SmallDisk } from '../small-disk.ts'
import { ACCEPTING, apiCalls, type EchoServer, type Plan, SERVER_FAULTS, type ServerFault } from './echo-server.ts'
import { found } from './spellings.ts'

const BIN = fileURLToPath(new URL('../../../bin/gdn.js', import.meta.url))
const NODE = process.env.GDN_TEST_NODE || process.execPath
const CONTRACT = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const OWNER = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
const SENDER = '0x627306090abaB3A6e1400e9345bC60c78a8BEf57'

const AT = ['-c', CONTRACT, '-b', 'polygon']
const NEW = ['--title', 'Dawn', ...AT, '--receiver', OWNER, '--yes']
const BATCH = [...AT, '--rate', '1000', '--yes']
const WALLET = ['--email', 'a@example.com', '--password-file', 'password.txt']

export interface Command {
  argv: readonly string[]
  /** An endpoint that the command calls without a fault. `rpc` is the Ethereum node. Default: none. */
  calls?: string
  /** The exit code without a fault. Default: 0. */
  exit?: number
  /** The destination of its local files without a fault. Default: a random one. */
  storage?: Combination['storage']
}

/** Commands that use a secret, a server, or stored data of them. */
export const COMMANDS: readonly Command[] = [
  { argv: ['nft', 'show', 'a', 'b'], calls: 'getnfts' },
  { argv: ['nft', 'list', ...AT], calls: 'getnftgdnids' },
  { argv: ['nft', 'mint', ...NEW], calls: 'createnft' },
  { argv: ['nft', 'mint', ...NEW, '--image', 'dawn.png'], calls: 'createnft', storage: 's3' },
  { argv: ['nft', 'grant', ...NEW, '--sender', SENDER], calls: 'createnfttrans' },
  { argv: ['nft', 'transfer', 'a', '-b', 'polygon', '--receiver', SENDER, '--yes'], calls: 'transfernft' },
  { argv: ['nft', 'wait', 'a'], calls: 'getnfts' },
  // The Ethereum node rejects every request.
  { argv: ['nft', 'verify', 'a', '-b', 'polygon', '--on-chain'], calls: 'rpc', exit: 6 },
  {
    argv: ['collection', 'create', '--name', 'Tide', '-b', 'polygon', '--wallet', OWNER, '--yes'],
    calls: 'createcollection',
  },
  { argv: ['collection', 'show', 'tx'], calls: 'getcollections' },
  { argv: ['collection', 'list'] },
  { argv: ['batch', 'validate', 'drop.csv', ...AT], calls: 'getisgdnnft' },
  { argv: ['batch', 'mint', 'drop.csv', ...BATCH], calls: 'createnft' },
  { argv: ['batch', 'mint', 'drop.csv', ...BATCH, '--dry-run'], calls: 'getnfts' },
  { argv: ['batch', 'mint', 'files.csv', ...BATCH], calls: 'createnft', storage: 'ipfs' },
  { argv: ['batch', 'resume', 'begun', '--rate', '1000', '--yes'], calls: 'getnfts' },
  { argv: ['batch', 'status', 'begun'] },
  { argv: ['batch', 'results', 'begun'] },
  { argv: ['batch', 'reconcile', 'begun', '--rate', '1000'], calls: 'getnfts' },
  { argv: ['auth', 'login', '--key-file', 'key.txt'], calls: 'getisgdnnft' },
  { argv: ['auth', 'status', '--check'], calls: 'getisgdnnft' },
  { argv: ['auth', 'logout'] },
  { argv: ['config', 'list'] },
  { argv: ['init', '--hosted', '--key-file', 'key.txt', '--yes', '-b', 'polygon'], calls: 'getisgdnnft' },
  { argv: ['doctor'], calls: 'getisgdnnft' },
  { argv: ['wallet', 'generate', ...WALLET, '--name', 'alice'], calls: 'create' },
  { argv: ['wallet', 'generate', ...WALLET, '--show-private-key'], calls: 'create' },
  { argv: ['wallet', 'url', '--email', 'a@example.com'], calls: 'getpresignedurl' },
  { argv: ['wallet', 'list'] },
  { argv: ['api', 'getnfts', '-f', 'ids.json'], calls: 'getnfts' },
  { argv: ['api', 'getpresignedurl', '-f', 'email.json'], calls: 'getpresignedurl' },
]

const MODES = [[], ['--json'], ['-o', 'ndjson'], ['-o', 'csv'], ['-o', 'ids'], ['-q']] as const
/** Commands with a single output format. */
const ONE_FORM = new Set(['api'])

/** Faults of the machine. */
const MACHINE_FAULTS = [
  'none',
  'proxy refuses',
  'proxy hangs up',
  'untrusted TLS',
  'state damaged',
  'disk full',
  'output full',
  'config damaged',
  'credentials damaged',
  'credentials loose',
  'uncaught exception',
  'SIGTERM',
  'SIGABRT and reports',
] as const
type MachineFault = (typeof MACHINE_FAULTS)[number]

export const FAULTS: readonly (ServerFault | MachineFault)[] = [...SERVER_FAULTS, ...MACHINE_FAULTS]

export interface Combination {
  command: Command
  mode: readonly string[]
  debug: 'no' | 'flag' | 'variable'
  fault: ServerFault | MachineFault
  /** The source of the API key. */
  key: 'variable' | 'file'
  /** The destination of local files. */
  storage: 's3' | 'ipfs'
  after: number
  /** Decides details of the fault. */
  random: () => number
}

/**
 * Returns this many combinations: every pair of command and fault before any is repeated, with the rest at random. It
 * begins with every command without a fault, in the default output mode.
 */
export function combinations(count: number, random: () => number): Combination[] {
  const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value
  const shuffled = <Value>(values: readonly Value[]) =>
    values
      .map((value) => ({ value, at: random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ value }) => value)
  const mixed = shuffled(COMMANDS.flatMap((command) => FAULTS.map((fault) => ({ command, fault }))))
  const first = new Set(mixed.filter(({ fault }) => fault === 'none'))
  const pairs = [...first, ...mixed.filter((pair) => !first.has(pair))]
  return Array.from({ length: count }, (_, i) => {
    const pair = pairs[i % pairs.length] as (typeof pairs)[number]
    const { command, fault } = pair
    return {
      command,
      fault,
      mode: ONE_FORM.has(command.argv[0] ?? '') || i < first.size ? [] : pick(MODES),
      debug: pick(['no', 'flag', 'flag', 'variable']),
      key: pick(['variable', 'file']),
      storage: (i < first.size ? command.storage : undefined) ?? pick(['s3', 'ipfs']),
      after: Math.floor(random() * 3),
      random: seededFrom(Math.floor(random() * 2 ** 31)),
    }
  })
}

/** Returns a unique secret with characters that every encoding changes. */
function mint(name: string): string {
  return `${name}-${randomBytes(20).toString('hex')}/+="<&%Zz`
}

interface Canaries {
  apiKey: string
  s3Secret: string
  s3Session: string
  proxyPassword: string
  rpcKey: string
  password: string
  privateKey: `0x${string}`
  signature: string
}

const newCanaries = (): Canaries => ({
  apiKey: mint('Key'),
  s3Secret: mint('Sec'),
  s3Session: mint('Ses'),
  proxyPassword: mint('Prx'),
  rpcKey: `Rpc${randomBytes(16).toString('hex')}`,
  password: mint('Pwd'),
  privateKey: generatePrivateKey(),
  signature: randomBytes(32).toString('hex'),
})

export interface World {
  server: EchoServer
  /** A home directory in which a batch was started. */
  template: string
  smallDisk: SmallDisk | null
}

/** Creates a home directory with a manifest, files, and a started batch on `server`. */
export async function makeTemplate(server: EchoServer): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'gdn-canary-'))
  const files: Record<string, string> = {
    'drop.csv': `title,description,receiver\nDawn,first,${OWNER}\nDusk,second,${OWNER}\n`,
    'files.csv': `title,description,receiver,image\nDawn,first,${OWNER},dawn.png\n`,
    'begun.csv': `title,description,receiver\nNoon,third,${OWNER}\nNight,fourth,${OWNER}\n`,
    'dawn.png': pngNamed('dawn').toString('latin1'),
    'ids.json': '{"nft_gdn_ids":["a"]}',
    'email.json': '{"email":"a@example.com"}',
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(home, name), text, 'latin1')
  const key = `template-${randomBytes(8).toString('hex')}`
  const plan: Plan = {
    fault: null,
    after: 0,
    privateKey: '',
    address: '',
    signature: '',
    rpcKey: '',
    url: server.url,
    calls: [],
    random: () => 0,
  }
  server.plans.set(key, plan)
  const env = { ...environment(home), GDN_BASE_URL: server.url, GDN_API_KEY: key }
  const argv = ['batch', 'mint', 'begun.csv', ...BATCH, '--no-wait']
  const { exitCode, stderr } = await execa(NODE, [BIN, ...argv], { cwd: home, env, extendEnv: false, reject: false })
  if (exitCode !== 0 || !plan.calls.includes('createnft')) throw new Error(`the batch was not begun: ${stderr}`)
  return home
}

function environment(home: string): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    HOME: home,
    TMPDIR: join(home, 'tmp'),
    GDN_PACE_DIR: join(home, 'pace'),
    GDN_KEYRING: 'off',
  }
}

/** The outcome of one combination: where an unexpected canary was found, and how the command ended. */
export interface Outcome {
  leaks: string[]
  /** The reason why a command without a fault didn't do its work, or null. */
  failure: string | null
  ended: string
  /** Number of searched places. */
  searched: number
}

/** A command that sends no request is stopped after this time, on a busy machine too. */
const START_MS = 20_000
/** A waiting command is stopped this long after its first request. */
const PATIENCE_MS = 2_500
/** A waiting command without a fault is stopped after this time, because it must succeed on a busy machine too. */
const SUCCESS_MS = 60_000
/** Key derivation from passwords is slow by design. */
const SLOW_MS = 20_000

const HANGING: ReadonlySet<string> = new Set(['hang', 'SIGTERM', 'SIGABRT and reports', '429', 'echo-in-headers'])

/** Runs gdn once for a combination in a separate home directory, and searches everything that it left. */
export async function runCombination(world: World, combination: Combination): Promise<Outcome> {
  const { server, template, smallDisk } = world
  const { fault } = combination
  const { argv: command } = combination.command
  const canaries = newCanaries()
  const home = await mkdtemp(join(tmpdir(), 'gdn-canary-'))
  try {
    await cp(template, home, { recursive: true })
    for (const name of ['tmp', 'reports', '.config/gdn', '.aws']) await mkdir(join(home, name), { recursive: true })
    const serverFault = SERVER_FAULTS.find((each) => each === fault) ?? null
    const hangs = fault === 'SIGTERM' || fault === 'SIGABRT and reports'
    const plan: Plan = {
      fault: hangs ? 'hang' : serverFault,
      after: combination.after,
      random: combination.random,
      calls: [],
      rpcKey: canaries.rpcKey,
      privateKey: canaries.privateKey,
      address: privateKeyToAddress(canaries.privateKey),
      url: server.url,
      signature: canaries.signature,
    }
    server.plans.set(canaries.apiKey, plan)
    const base = baseUrl(server, fault)
    const { env, given } = await furnish(home, { base, canaries, server, combination })
    if (fault === 'disk full' && smallDisk !== null) env.GDN_STATE_DIR = smallDisk.path
    const argv = [...command, ...combination.mode, ...(combination.debug === 'flag' ? ['--debug'] : [])]
    if (['nft', 'collection', 'batch', 'api', 'auth', 'init', 'doctor', 'wallet'].includes(command[0] ?? '')) {
      const takesUrl = command.join(' ') !== 'wallet list'
      if (takesUrl && (combination.key === 'file' || command[0] === 'init')) argv.push('--base-url', base)
      else env.GDN_BASE_URL = base
    }
    if (command[0] === 'init') delete env.GDN_BASE_URL
    const outcome = await start(home, env, argv, fault, () => apiCalls(plan) > 0)
    server.plans.delete(canaries.apiKey)

    // A signed URL is returned to its requester, and gdn api prints the server's response.
    const expectedHere = command[0] === 'api' ? [canaries.signature, canaries.privateKey] : []
    if (command.includes('--show-private-key')) expectedHere.push(canaries.privateKey)
    if (command[1] === 'url') expectedHere.push(canaries.signature)
    const leaks: string[] = []
    const search = (where: string, bytes: Buffer, except: readonly string[] = []) => {
      for (const [name, secret] of Object.entries(canaries)) {
        if (except.includes(secret)) continue
        const spelling = found(bytes, secret)
        if (spelling !== null) leaks.push(`${name} in ${where}: ${around(bytes, spelling)}`)
      }
    }
    search('stdout', outcome.stdout, expectedHere)
    search('stderr', outcome.stderr)
    let searched = 2
    for (const folder of [home, ...(env.GDN_STATE_DIR === undefined ? [] : [env.GDN_STATE_DIR])]) {
      for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
        const path = join(entry.parentPath, entry.name)
        search(`a name: ${path}`, Buffer.from(entry.name))
        if (!entry.isFile()) continue
        searched += 1
        search(path.slice(home.length + 1), withoutRegisters(await readFile(path)), given.get(path) ?? [])
      }
    }
    const failure = fault === 'none' ? failureOf(combination.command, plan, outcome) : null
    return { leaks, failure, ended: outcome.ended, searched }
  } finally {
    await rm(home, { recursive: true, force: true, maxRetries: 3 })
  }
}

function failureOf({ calls, exit = 0 }: Command, plan: Plan, { ended, stderr }: Ended): string | null {
  if (ended !== String(exit)) return `ended with ${ended} instead of ${exit}: ${stderr}`
  return calls === undefined || plan.calls.includes(calls) ? null : `called ${plan.calls.join(', ')}, but not ${calls}`
}

function baseUrl(server: EchoServer, fault: Combination['fault']): string {
  if (fault === 'untrusted TLS') return server.tlsUrl
  return fault === 'proxy refuses' || fault === 'proxy hangs up' ? 'https://api.canary.example' : server.url
}

interface Furnishing {
  base: string
  canaries: Canaries
  server: EchoServer
  combination: Combination
}

/** Writes the secrets to their places. Returns the environment, and which file may contain which secrets. */
async function furnish(home: string, { base, canaries, server, combination }: Furnishing) {
  const { apiKey, s3Secret, s3Session, proxyPassword, rpcKey, password } = canaries
  const { fault, key, storage, debug, random } = combination
  const env: Record<string, string> = {
    ...environment(home),
    GDN_RPC_URL: `${server.url}/v3/${rpcKey}`,
    HTTPS_PROXY: server.proxyUrl('someone', proxyPassword, fault === 'proxy hangs up' ? 'hangs-up' : 'refuses'),
    NODE_OPTIONS: `--report-on-fatalerror --report-uncaught-exception --report-on-signal --report-signal=SIGUSR2 --report-directory=${home}/reports`,
  }
  const path = (name: string) => join(home, name)
  const credentials = path('.config/gdn/credentials.json')
  const config = path('.config/gdn/config.json')
  const given = new Map<string, string[]>([
    [path('key.txt'), [apiKey]],
    [path('password.txt'), [password]],
    [credentials, [apiKey]],
    [path('.aws/credentials'), [s3Secret, s3Session]],
  ])
  const bucket = fault === 'none' ? ACCEPTING : 'drops'
  const settings =
    storage === 's3'
      ? { storage: `s3://${bucket}/a`, storage_endpoint: server.url, storage_public_url: 'https://files.example.com' }
      : { storage: 'ipfs', ipfs_api: `${server.url}/${bucket}` }
  await writeFile(config, JSON.stringify({ profiles: { default: { base_url: base, ...settings } } }), { mode: 0o600 })
  await writeFile(path('key.txt'), `${apiKey}\n`, { mode: 0o600 })
  await writeFile(path('password.txt'), `${password}\n`, { mode: 0o600 })
  await writeFile(credentials, JSON.stringify({ [new URL(base).origin]: apiKey }), { mode: 0o600 })
  if (key === 'variable') {
    env.GDN_API_KEY = apiKey
    Object.assign(env, { AWS_ACCESS_KEY_ID: 'AKIA', AWS_SECRET_ACCESS_KEY: s3Secret, AWS_SESSION_TOKEN: s3Session })
  } else {
    const text = `[default]\naws_access_key_id = AKIA\naws_secret_access_key = ${s3Secret}\naws_session_token = ${s3Session}\n`
    await writeFile(path('.aws/credentials'), text, { mode: 0o600 })
  }
  if (debug === 'variable') env.GDN_DEBUG = '1'
  switch (fault) {
    case 'config damaged':
      // A user put the key into the wrong file, which is also malformed.
      await writeFile(config, `{"profiles":{"default":{"api_key":${JSON.stringify(apiKey)},"base_url":`)
      given.set(config, [apiKey])
      break
    case 'credentials damaged':
      await writeFile(credentials, `{"${new URL(base).origin}": ${JSON.stringify(apiKey)} "x"`, { mode: 0o600 })
      break
    case 'credentials loose':
      await chmod(credentials, 0o644)
      await chmod(path('key.txt'), 0o644)
      break
    case 'state damaged':
      await damage(path('.local/state/gdn'), random)
      break
    case 'uncaught exception': {
      const bomb = path('bomb.mjs')
      const known = key === 'variable' ? [apiKey, s3Secret, s3Session, rpcKey, proxyPassword] : [rpcKey, proxyPassword]
      await writeFile(bomb, bombText(`boom ${known.join(' ')}`, Math.floor(random() * 300)))
      env.NODE_OPTIONS += ` --import=file://${bomb}`
      given.set(bomb, known)
      break
    }
  }
  return { env, given }
}

/**
 * Code that throws uncaught errors: after a while with the process environment, and during a request with its headers.
 */
function bombText(message: string, delayMs: number): string {
  return `
import http from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
const blow = (text, more) => { throw Object.assign(new Error(text), more) }
const { request } = http
http.request = (url, options, ...rest) => {
  setImmediate(() => blow('boom ' + url + JSON.stringify(options.headers), { options }))
  return request(url, options, ...rest)
}
syncBuiltinESMExports()
const begun = setInterval(() => {
  // Waits until gdn itself has started, because earlier errors are not its own.
  if (process.listenerCount('uncaughtException') === 0) return
  clearInterval(begun)
  setTimeout(() => blow(${JSON.stringify(message)}, { env: { ...process.env } }), ${delayMs}).unref()
}, 1)
begun.unref()
`
}

/**
 * Flips bytes in all files of a folder. Half of the time it keeps the first page, so that SQLite opens the databases.
 */
async function damage(folder: string, random: () => number): Promise<void> {
  const start = random() < 0.5 ? 0 : 4096
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const bytes = await readFile(path)
    for (let i = start; i < bytes.length; i += 1 + Math.floor(random() * 60)) bytes[i] = (bytes[i] ?? 0) ^ 0x15
    await writeFile(path, bytes)
  }
}

interface Ended {
  stdout: Buffer
  stderr: Buffer
  /** Exit code or signal. */
  ended: string
}

/** @param hasAsked whether gdn has sent a request to the server */
async function start(
  home: string,
  env: Record<string, string>,
  argv: readonly string[],
  fault: Combination['fault'],
  hasAsked: () => boolean,
): Promise<Ended> {
  const words = [NODE, BIN, ...argv]
  const script = `ulimit -c unlimited 2>/dev/null; exec "$@"${fault === 'output full' ? ' > /dev/full' : ''}`
  const [file, ...args] = ['sh', '-c', script, 'sh', ...words]
  const child = execa(file ?? 'sh', args, {
    cwd: home,
    env,
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
    encoding: 'buffer',
    maxBuffer: 16 * 1024 * 1024,
  })
  const ended = new AbortController()
  const signals = async () => {
    for (const late = Date.now() + START_MS; !hasAsked() && Date.now() < late; ) {
      await setTimeout(50, undefined, { signal: ended.signal })
    }
    // The server hangs, so gdn is waiting now.
    if (fault === 'SIGABRT and reports') {
      child.kill('SIGUSR2')
      await setTimeout(300, undefined, { signal: ended.signal })
      child.kill('SIGABRT')
    }
    const slowMs = argv[0] === 'wallet' && !HANGING.has(fault) ? SLOW_MS : PATIENCE_MS
    const waitMs = fault === 'none' ? SUCCESS_MS : slowMs
    if (fault !== 'SIGTERM') await setTimeout(waitMs, undefined, { signal: ended.signal })
    child.kill('SIGTERM')
    await setTimeout(PATIENCE_MS, undefined, { signal: ended.signal })
    child.kill('SIGKILL')
  }
  const signalled = signals().catch(() => {})
  const { stdout, stderr, exitCode, signal } = await child
  ended.abort()
  await signalled
  return { stdout: Buffer.from(stdout), stderr: Buffer.from(stderr), ended: signal ?? String(exitCode) }
}

const ELF_64 = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2])
const PT_NOTE = 4

/**
 * Returns a core file without its notes. The kernel writes the registers of each thread there, which no process can
 * prevent, and vector registers may still have what was copied last.
 */
function withoutRegisters(file: Buffer): Buffer {
  if (!file.subarray(0, ELF_64.length).equals(ELF_64)) return file
  const [start, size, count] = [Number(file.readBigUInt64LE(0x20)), file.readUInt16LE(0x36), file.readUInt16LE(0x38)]
  for (let at = start; at < start + size * count; at += size) {
    if (file.readUInt32LE(at) !== PT_NOTE) continue
    const from = Number(file.readBigUInt64LE(at + 0x08))
    file.fill(0, from, from + Number(file.readBigUInt64LE(at + 0x20)))
  }
  return file
}

function around(bytes: Buffer, spelling: string): string {
  const at = bytes.indexOf(Buffer.from(spelling, 'latin1'))
  return JSON.stringify(bytes.subarray(Math.max(0, at - 60), at + spelling.length + 20).toString('latin1'))
}

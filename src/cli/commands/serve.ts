import { resolve } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { databaseGiven, holdsPassword } from '../../config/database-url.ts'
import { localApiKeyFile } from '../../config/local-backend.ts'
import { localDataDirectory } from '../../config/paths.ts'
import { GdnError } from '../../core/errors.ts'
import { within } from '../../core/within.ts'
import { GdnCommand, switchFlag, valueFlag } from '../command.ts'
import { addDatabaseFlag, settingsGiven } from '../connect/data-dir.ts'
import type { Deps } from '../deps.ts'
import { addJsonFlag, type CommonFlags } from '../flags/common.ts'
import { duration, integer, notEmpty, oneOf } from '../flags/parse.ts'
import { addStoredFilesFlags, type StoredFilesFlags, storedFilesOptions } from '../flags/stored-files.ts'
import { safe } from '../io/io.ts'
import { announceFaults, readFaults } from '../request/faults.ts'
import { VERSION } from '../version.ts'
import { appendTo, unlessStopped, untilAborted } from './serving.ts'
import { PASSWORD_IN_ARGV, worker } from './worker.ts'

const DEFAULT_PORT = 4680
const LOG_LEVELS = ['silent', 'info', 'debug'] as const
const ROLES = ['all', 'api', 'worker'] as const
/** Beside the time that requests under way are given. */
const CLOSE_WITHIN_MS = 5000

export interface ServeFlags extends CommonFlags, StoredFilesFlags {
  host?: string
  port?: number
  dataDir?: string
  allowLocalKey?: boolean
  tlsCert?: string
  tlsKey?: string
  trustProxy?: string[]
  maxConnections?: number
  maxConnectionsPerAddress?: number
  allowedHost?: string[]
  rateLimits?: 'on' | 'off'
  singleUseUrls?: boolean
  config?: string
  databaseUrl?: string
  role?: (typeof ROLES)[number]
  faults?: string
  logLevel?: (typeof LOG_LEVELS)[number]
  logFile?: string
  drain?: number
}

export function command(deps: Deps, run = serve): GdnCommand {
  const serveCommand = new GdnCommand({
    about:
      'Serves the API, its chains and its files from one data directory until it is stopped. Ctrl-C and SIGTERM end it in good order, with exit code 0.',
    examples: [
      ['On the usual port', 'gdn serve'],
      ['For a script: any free port, told on stdout', 'gdn serve --port 0 --data-dir ./data --json'],
      ['Without rate limits, for load tests', 'gdn serve --rate-limits off'],
      ['For other machines, encrypted', 'gdn serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem'],
      ['One of several on PostgreSQL, beside gdn worker', 'gdn serve --role api --database-url postgres://db/gdn'],
      ['Behind a proxy that encrypts', 'gdn serve --trust-proxy 127.0.0.1 --allowed-host nft.example.com'],
    ],
  })
  valueFlag(serveCommand, '--host <host>', 'Address to listen on (127.0.0.1)', { parse: notEmpty })
  valueFlag(serveCommand, '--port <port>', 'Port to listen on (4680); 0 picks one', { parse: integer(0, 65_535) })
  valueFlag(serveCommand, '--data-dir <dir>', 'Where everything is kept', { parse: notEmpty })
  addDatabaseFlag(serveCommand)
  valueFlag(serveCommand, '--role <role>', 'api takes requests, worker does the work, all does both (all)', {
    parse: oneOf(ROLES),
  })
  valueFlag(serveCommand, '--rate-limits <on|off>', 'Rate limits of the API (on)', { parse: oneOf(['on', 'off']) })
  addStoredFilesFlags(serveCommand)
  valueFlag(serveCommand, '--allowed-host <host>', 'Host header to answer besides loopback; repeatable', {
    parse: notEmpty,
    repeatable: true,
  })
  valueFlag(serveCommand, '--tls-cert <file>', 'Serve https with this certificate and its chain (PEM)', {
    parse: notEmpty,
  })
  valueFlag(serveCommand, '--tls-key <file>', 'Its private key (PEM), a file of mode 0600; SIGHUP reads both anew', {
    parse: notEmpty,
  })
  valueFlag(
    serveCommand,
    '--trust-proxy <network>',
    'Believe X-Forwarded-* headers of this address or network; repeatable',
    {
      parse: notEmpty,
      repeatable: true,
    },
  )
  switchFlag(serveCommand, '--allow-local-key', "Take the local account's key from other machines too")
  valueFlag(serveCommand, '--max-connections <n>', 'Connections held open at once (2000)', {
    parse: integer(1, 1_000_000),
  })
  valueFlag(serveCommand, '--max-connections-per-address <n>', 'Of them by one address of another machine (200)', {
    parse: integer(1, 1_000_000),
  })
  switchFlag(serveCommand, '--single-use-urls', 'A signed URL makes one wallet and no more')
  valueFlag(serveCommand, '--drain <time>', 'Go on answering so long after SIGTERM, while /readyz says no (0s)', {
    parse: duration,
  })
  valueFlag(serveCommand, '--log-level <level>', 'silent, info or debug', { parse: oneOf(LOG_LEVELS) })
  valueFlag(serveCommand, '--log-file <file>', 'Write the log there instead of to stderr', { parse: notEmpty })
  valueFlag(serveCommand, '--config <file>', 'Networks by RPC URL (backend.yaml of the data dir)', { parse: notEmpty })
  valueFlag(serveCommand, '--faults <file>', 'Let requests fail as the file says; for tests of your own', {
    parse: notEmpty,
  })
  addJsonFlag(serveCommand, 'Print one line of JSON when it is ready')
  return serveCommand.action(async (flags: ServeFlags) => await run(deps, flags)) as GdnCommand
}

/** Serves until a signal comes; a stop that was asked for is a success. */
export async function serve(deps: Deps, flags: ServeFlags): Promise<void> {
  const { io, env, signals, cwd } = deps
  if (flags.role === 'worker') return await serveWorker(deps, flags)
  signals.own()
  const dataDir = flags.dataDir === undefined ? localDataDirectory(env) : resolve(flags.dataDir)
  // Garbage is collected sooner. Measured with 30,000 NFTs minted: 110 MiB instead of 170, and hardly any time.
  setFlagsFromString('--optimize-for-size')
  const { startBackend, MIN_FINISH_MS } = await import('../../server/main.ts')
  const drainMs = flags.drain ?? 0
  const starting = startBackend({
    host: flags.host ?? '127.0.0.1',
    port: flags.port ?? DEFAULT_PORT,
    dataDir,
    database: databaseGiven(flags.databaseUrl, env),
    role: flags.role ?? 'all',
    ...storedFilesOptions(flags, env),
    rateLimits: flags.rateLimits !== 'off',
    singleUseUrls: flags.singleUseUrls ?? false,
    allowedHosts: flags.allowedHost ?? [],
    allowLocalKey: flags.allowLocalKey ?? false,
    tls: tlsFiles(cwd, flags),
    trustProxy: flags.trustProxy ?? [],
    connections: {
      ...(flags.maxConnections === undefined ? {} : { total: flags.maxConnections }),
      ...(flags.maxConnectionsPerAddress === undefined ? {} : { perAddress: flags.maxConnectionsPerAddress }),
    },
    drainMs,
    faults: await readFaults(cwd, flags.faults),
    settingsFile: settingsGiven(deps, flags),
    credentialsDirectory: env.CREDENTIALS_DIRECTORY,
    env,
    version: VERSION,
    logLevel: flags.logLevel ?? (flags.logFile === undefined ? 'silent' : 'info'),
    logStream: flags.logFile === undefined ? { write: (line) => io.log(line) } : await appendTo(resolve(flags.logFile)),
  })
  const backend = await unlessStopped(signals, starting)
  if (backend === null) return
  for (const warning of backend.warnings) io.warn(`${safe(warning)}; what needs it waits until it is back`)
  const { reloadTls } = backend
  // Where a terminal is, its closing sends the same signal, and means the end.
  if (reloadTls !== null && !io.stdin.isTTY) signals.hangup(() => void reloadTls())
  try {
    if (flags.json) {
      const { url, apiKey, dataDir: dir } = backend
      const ready = { event: 'ready', url, api_key: apiKey.disclose(), data_dir: dir, pid: process.pid }
      const faults = backend.faults.length > 0 ? { faults: true } : {}
      const exposed = backend.exposed ? { exposed: true } : {}
      await io.data(`${JSON.stringify({ ...ready, ...faults, ...exposed })}\n`)
    } else {
      io.note(`gdn backend ${VERSION} serves on ${io.errPaint.bold(backend.url)}`)
      io.note(`  data     ${safe(backend.dataDir)}`)
      io.note(`  API key  in ${safe(localApiKeyFile(backend.dataDir))}`)
      if (flags.databaseUrl !== undefined && holdsPassword(flags.databaseUrl)) io.warn(`  ${PASSWORD_IN_ARGV}`)
      if (flags.allowPrivateFiles) io.warn('  files are fetched from private addresses too (--allow-private-files)')
      if (backend.exposed) for (const line of exposure(flags)) io.warn(`  ${line}`)
      announceFaults(io, backend.faults)
      io.note('Ctrl-C stops it.')
    }
    await untilAborted(signals.signal)
    io.note(drainMs === 0 ? 'Stopping.' : 'Stopping when load balancers have noticed. Ctrl-C again stops at once.')
    await backend.drain(signals.again)
  } finally {
    await within(backend.close(), Math.max(drainMs, MIN_FINISH_MS) + CLOSE_WITHIN_MS)
  }
}

/** As `gdn worker`; with an address for its health where one was given. */
const serveWorker = (deps: Deps, { rateLimits: _, drain: _drain, ...flags }: ServeFlags) =>
  worker(deps, { ...flags, ...(flags.port === undefined ? {} : { healthPort: flags.port }) })

function tlsFiles(cwd: string, { tlsCert, tlsKey }: ServeFlags): { certFile: string; keyFile: string } | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined
  if (tlsCert !== undefined && tlsKey !== undefined) {
    return { certFile: resolve(cwd, tlsCert), keyFile: resolve(cwd, tlsKey) }
  }
  const missing = tlsCert === undefined ? '--tls-cert' : '--tls-key'
  throw new GdnError('usage', 'a certificate and its key are given together', {
    place: { flag: missing },
    hint: 'gdn serve --tls-cert cert.pem --tls-key key.pem',
  })
}

/** What somebody has to know whose backend others can reach. */
function exposure({ tlsCert, trustProxy = [], allowLocalKey }: ServeFlags): string[] {
  const plain = 'what they send and get, keys included, is not encrypted: give --tls-cert and --tls-key'
  return [
    'other machines can reach it (--host)',
    ...(tlsCert === undefined && trustProxy.length === 0 ? [plain] : []),
    allowLocalKey
      ? 'the key of the local account is taken from them too (--allow-local-key)'
      : 'the key of the local account is refused to them: gdn key create makes keys',
  ]
}

import { resolve } from 'node:path'
import { containsPassword, readDatabaseOptions } from '../../config/database-url.ts'
import { DEFAULT_PORT, findRunningBackend, localApiKeyFile } from '../../config/local-backend.ts'
import { localDataDirectory } from '../../config/paths.ts'
import { flagError, GdnError } from '../../core/errors.ts'
import { withTimeout } from '../../core/with-timeout.ts'
import { GdnCommand } from '../command.ts'
import { addDatabaseFlag, findConfigFile } from '../connect/data-dir.ts'
import type { Deps } from '../deps.ts'
import { addJsonFlag, duration, integer, notEmpty, oneOf } from '../flags/common.ts'
import { addServedApiFlags, type ServedApiFlags, servedApiOptions } from '../flags/served-api.ts'
import { addStoredFilesFlags, storedFilesOptions } from '../flags/stored-files.ts'
import { safe } from '../io/io.ts'
import { CLOSE_WITHIN_MS } from '../io/signals.ts'
import { announceFaults, readFaults } from '../request/faults.ts'
import { VERSION } from '../version.ts'
import { addLogFlags, logOptions, runUnlessStopped, untilAborted, warnOfProblems } from './serving.ts'
import { PASSWORD_IN_ARGV_WARNING, type WorkerFlags, worker } from './worker.ts'

const ROLES = ['all', 'api', 'worker'] as const

export interface ServeFlags extends Omit<WorkerFlags, 'chain' | 'concurrency' | 'healthPort'>, ServedApiFlags {
  port?: number
  allowLocalKey?: boolean
  tlsCert?: string
  tlsKey?: string
  trustProxy?: string[]
  maxConnections?: number
  maxConnectionsPerAddress?: number
  allowedHost?: string[]
  singleUseUrls?: boolean
  role?: (typeof ROLES)[number]
  faults?: string
  drain?: number
}

export function command(deps: Deps, run = serve): GdnCommand {
  return new GdnCommand({
    about:
      'The backend serves the API, its chains and its files until you stop it. By default, it stores all data in one directory. After Ctrl-C or SIGTERM, the backend shuts down gracefully and exits with code 0.',
    examples: [
      ['Start on the default port', 'gdn serve'],
      ['Start on a free port and print the port, for a script', 'gdn serve --port 0 --data-dir ./data --json'],
      ['Start without rate limits, for load tests', 'gdn serve --rate-limits off'],
      ['Serve other machines over TLS', 'gdn serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem'],
      [
        'Run an API process with PostgreSQL, in addition to gdn worker',
        'gdn serve --role api --database-url postgres://db/gdn',
      ],
      ['Run behind a TLS proxy', 'gdn serve --trust-proxy 127.0.0.1 --allowed-host nft.example.com'],
    ],
  })
    .valueFlag('--host <host>', 'Address to listen on (127.0.0.1)', notEmpty)
    .valueFlag('--port <port>', 'Port to listen on (4680); 0 selects a free port', integer(0, 65_535))
    .valueFlag('--data-dir <dir>', 'Data directory of the backend', notEmpty)
    .with(addDatabaseFlag)
    .valueFlag('--role <role>', 'Role: api handles requests, worker processes jobs, all does both (all)', oneOf(ROLES))
    .with(addServedApiFlags, addStoredFilesFlags)
    .valueFlag('--allowed-host <host>', 'Accept requests to this host, in addition to loopback hosts; repeatable', {
      parse: notEmpty,
      repeatable: true,
    })
    .valueFlag('--tls-cert <file>', 'Serve HTTPS with this PEM certificate and its chain', notEmpty)
    .valueFlag(
      '--tls-key <file>',
      'PEM private key of the certificate, with mode 0600; SIGHUP reloads both files',
      notEmpty,
    )
    .valueFlag('--trust-proxy <network>', 'Trust X-Forwarded-* headers from this address or network; repeatable', {
      parse: notEmpty,
      repeatable: true,
    })
    .switchFlag('--allow-local-key', "Also accept the local account's key from other machines")
    .valueFlag('--max-connections <n>', 'Maximum number of open connections (2000)', integer(1, 1_000_000))
    .valueFlag(
      '--max-connections-per-address <n>',
      'Maximum number of connections from one remote address (200)',
      integer(1, 1_000_000),
    )
    .switchFlag('--single-use-urls', 'Let each signed URL generate only one wallet')
    .valueFlag('--drain <time>', 'Keep serving for this time after SIGTERM, while /readyz returns 503 (0s)', duration)
    .with(addLogFlags)
    .valueFlag('--config <file>', 'Configuration of the backend (backend.yaml in the data directory)', notEmpty)
    .valueFlag('--faults <file>', 'Inject the faults that this file defines, for tests', notEmpty)
    .with((own) => addJsonFlag(own, 'Print one line of JSON when the backend is ready'))
    .action(async (flags: ServeFlags) => await run(deps, flags))
}

/** Serves until a signal arrives. Stopping on a signal counts as success. */
export async function serve(deps: Deps, flags: ServeFlags): Promise<void> {
  const { io, env, signals, cwd } = deps
  if (flags.role === 'worker') return await serveWorker(deps, flags)
  signals.own()
  const dataDir = flags.dataDir === undefined ? localDataDirectory(env) : resolve(flags.dataDir)
  const { startBackend, MIN_FINISH_MS } = await import('../../server/main.ts')
  const drainMs = flags.drain ?? 0
  const starting = startBackend({
    host: flags.host ?? '127.0.0.1',
    port: flags.port ?? DEFAULT_PORT,
    dataDir,
    database: readDatabaseOptions(flags.databaseUrl, env),
    role: flags.role ?? 'all',
    ...storedFilesOptions(flags, env),
    ...servedApiOptions(flags),
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
    settingsFile: findConfigFile(deps, flags),
    credentialsDirectory: env.CREDENTIALS_DIRECTORY,
    env,
    version: VERSION,
    ...(await logOptions(flags, io, signals)),
  })
  const backendOrPortError = starting.catch(async (error: unknown) => {
    throw await withPortHolder(deps, error, flags.port ?? DEFAULT_PORT)
  })
  const backend = await runUnlessStopped(signals, backendOrPortError)
  if (backend === null) return
  warnOfProblems(io, backend.warnings)
  const { reloadTls } = backend
  // SIGHUP reloads the TLS files. In a terminal, it stops the backend instead, because closing the terminal sends
  // SIGHUP too.
  if (reloadTls !== null && !io.stdin.isTTY) signals.hangup(() => void reloadTls())
  try {
    if (flags.json) {
      const { url, apiKey, dataDir: dir } = backend
      const ready = { event: 'ready', url, api_key: apiKey.disclose(), data_dir: dir, pid: process.pid }
      const faults = backend.faults.length > 0 ? { faults: true } : {}
      const exposed = backend.exposed ? { exposed: true } : {}
      await io.data(`${JSON.stringify({ ...ready, ...faults, ...exposed })}\n`)
    } else {
      io.note(`gdn backend ${VERSION} listens on ${io.errPaint.bold(backend.url)}`)
      io.note(`  data     ${safe(backend.dataDir)}`)
      io.note(`  API key  in ${safe(localApiKeyFile(backend.dataDir))}`)
      if (flags.databaseUrl !== undefined && containsPassword(flags.databaseUrl))
        io.warn(`  ${PASSWORD_IN_ARGV_WARNING}`)
      if (flags.allowPrivateFiles)
        io.warn('  The backend also fetches files from private addresses (--allow-private-files).')
      if (backend.exposed) for (const line of exposureWarnings(flags)) io.warn(`  ${line}`)
      announceFaults(io, backend.faults)
      io.note('Press Ctrl-C to stop.')
    }
    await untilAborted(signals.signal)
    io.note(drainMs === 0 ? 'Stopping.' : 'Stopping after the drain time. Press Ctrl-C again to stop now.')
    await backend.drain(signals.again)
  } finally {
    await withTimeout(backend.close(), Math.max(drainMs, MIN_FINISH_MS) + CLOSE_WITHIN_MS)
  }
}

/** Names the backend that uses the port in a `port_in_use` error. Returns other errors unchanged. */
async function withPortHolder(deps: Deps, error: unknown, port: number): Promise<unknown> {
  if (!(error instanceof GdnError) || error.code !== 'port_in_use') return error
  const local = await findRunningBackend(localDataDirectory(deps.env))
  if (local !== null && new URL(local.url).port === String(port)) {
    const message = `the local backend (process ${local.pid}) uses port ${port}`
    return error.with({ message, hint: `Run \`gdn local stop\` to stop that backend, or:\n${error.hint ?? ''}` })
  }
  const baseUrl = `http://127.0.0.1:${port}`
  const server = { baseUrl, origin: baseUrl, isLoopback: true, source: 'flag', from: '--port' } as const
  const { id } = await deps.identify(server, 'once').catch(() => ({ id: null }))
  if (id === null) return error
  return error.with({ message: `another gdn backend uses port ${port}` })
}

/** Runs `gdn worker`. If a port is specified, also serves a health endpoint. */
const serveWorker = (deps: Deps, { rateLimits: _, drain: _drain, ...flags }: ServeFlags) =>
  worker(deps, { ...flags, healthPort: flags.port })

function tlsFiles(cwd: string, { tlsCert, tlsKey }: ServeFlags): { certFile: string; keyFile: string } | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined
  if (tlsCert !== undefined && tlsKey !== undefined) {
    return { certFile: resolve(cwd, tlsCert), keyFile: resolve(cwd, tlsKey) }
  }
  const [missing, present] = tlsCert === undefined ? ['--tls-cert', '--tls-key'] : ['--tls-key', '--tls-cert']
  throw flagError(missing, `is required with ${present}`, 'Add both, such as --tls-cert cert.pem --tls-key key.pem.')
}

function exposureWarnings({ tlsCert, trustProxy = [], allowLocalKey }: ServeFlags): string[] {
  const plain = 'Requests and responses, including API keys, are not encrypted. Add --tls-cert and --tls-key.'
  return [
    'Other machines can reach this backend (--host).',
    ...(tlsCert === undefined && trustProxy.length === 0 ? [plain] : []),
    allowLocalKey
      ? 'Other machines can use the key of the local account (--allow-local-key).'
      : 'Other machines cannot use the key of the local account. Run `gdn key create` to create keys for other machines.',
  ]
}

import { resolve } from 'node:path'
import type { Blockchain } from '../../api/blockchains.ts'
import { containsPassword, readDatabaseOptions } from '../../config/database-url.ts'
import { localDataDirectory } from '../../config/paths.ts'
import { withTimeout } from '../../core/with-timeout.ts'
import { GdnCommand } from '../command.ts'
import { addDatabaseFlag, findConfigFile } from '../connect/data-dir.ts'
import type { Deps } from '../deps.ts'
import { addJsonFlag, blockchainName, type CommonFlags, integer, notEmpty } from '../flags/common.ts'
import { addStoredFilesFlags, type StoredFilesFlags, storedFilesOptions } from '../flags/stored-files.ts'
import { safe } from '../io/io.ts'
import { CLOSE_WITHIN_MS } from '../io/signals.ts'
import { VERSION } from '../version.ts'
import { addLogFlags, type LogFlags, logOptions, runUnlessStopped, untilAborted, warnOfProblems } from './serving.ts'

export const PASSWORD_IN_ARGV_WARNING =
  'Every user of this machine can read the password in --database-url. Set GDN_DATABASE_URL instead.'

export interface WorkerFlags extends CommonFlags, StoredFilesFlags, LogFlags {
  dataDir?: string
  databaseUrl?: string
  config?: string
  concurrency?: number
  chain?: Blockchain[]
  host?: string
  healthPort?: number | undefined
}

export function command(deps: Deps, run = worker): GdnCommand {
  return new GdnCommand({
    about:
      'Any number of workers and gdn serve --role api processes can share a database, and need no other coordination. If a worker is killed, other workers take over its jobs within seconds. If you use several machines, store files in a bucket or on an IPFS node (storage in backend.yaml). A process does not start if the files are in the data directory of another machine. One of the workers runs the embedded chains. After Ctrl-C or SIGTERM, a worker shuts down gracefully.',
    examples: [
      ['Use the configuration in a data directory', 'gdn worker --data-dir /var/lib/gdn'],
      ['Process the jobs of one network, and fetch more files at once', 'gdn worker --chain polygon --concurrency 128'],
      ['Serve health checks for a monitor', 'gdn worker --health-port 9464'],
    ],
  })
    .valueFlag('--data-dir <dir>', 'Directory for the configuration and for locally stored files', notEmpty)
    .with(addDatabaseFlag)
    .valueFlag('--config <file>', 'Configuration of the backend (backend.yaml in the data directory)', notEmpty)
    .valueFlag('--concurrency <n>', 'Maximum number of NFTs whose files are fetched at once (64)', integer(1, 1000))
    .valueFlag('--chain <blockchain>', 'Process only the jobs of this blockchain; repeatable', {
      parse: (name: string) => blockchainName(name, '--chain'),
      repeatable: true,
    })
    .valueFlag(
      '--health-port <port>',
      'Port that serves /healthz, /readyz and /metrics; 0 selects a free port',
      integer(0, 65_535),
    )
    .valueFlag('--host <host>', 'Address of the health port (127.0.0.1)', notEmpty)
    .with(addStoredFilesFlags)
    .with(addLogFlags)
    .with((own) => addJsonFlag(own, 'Print one line of JSON when the worker is ready'))
    .action(async (flags: WorkerFlags) => await run(deps, flags))
}

/** Processes jobs until a signal arrives. Stopping on a signal counts as success. */
export async function worker({ io, env, signals, cwd }: Deps, flags: WorkerFlags): Promise<void> {
  signals.own()
  const dataDir = flags.dataDir === undefined ? localDataDirectory(env) : resolve(cwd, flags.dataDir)
  const { startWorker } = await import('../../server/worker.ts')
  const starting = startWorker({
    dataDir,
    database: readDatabaseOptions(flags.databaseUrl, env),
    settingsFile: findConfigFile({ env, cwd }, flags),
    credentialsDirectory: env.CREDENTIALS_DIRECTORY,
    env,
    only: flags.chain,
    concurrency: flags.concurrency,
    health: flags.healthPort === undefined ? undefined : { host: flags.host ?? '127.0.0.1', port: flags.healthPort },
    ...storedFilesOptions(flags, env),
    version: VERSION,
    ...(await logOptions(flags, io, signals)),
  })
  const running = await runUnlessStopped(signals, starting)
  if (running === null) return
  warnOfProblems(io, running.warnings)
  try {
    if (flags.json) {
      const ready = { event: 'ready', url: running.url, data_dir: dataDir, pid: process.pid }
      await io.data(`${JSON.stringify(ready)}\n`)
    } else {
      io.note(`gdn worker ${VERSION} is running`)
      io.note(`  database ${safe(running.database)}`)
      if (running.url !== null) io.note(`  health   ${safe(running.url)}`)
      if (flags.databaseUrl !== undefined && containsPassword(flags.databaseUrl))
        io.warn(`  ${PASSWORD_IN_ARGV_WARNING}`)
      io.note('Press Ctrl-C to stop.')
    }
    await untilAborted(signals.signal)
    io.note('Stopping.')
  } finally {
    await withTimeout(running.close(), CLOSE_WITHIN_MS)
  }
}

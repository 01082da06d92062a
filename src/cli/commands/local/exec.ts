import { join, resolve } from 'node:path'
import { type EvmBlockchain, isEvm, KNOWN_EVM_NAMES } from '../../../api/blockchains.ts'
import { flagError, GdnError } from '../../../core/errors.ts'
import { withTemporaryDirectory } from '../../../core/temporary-folder.ts'
import { withTimeout } from '../../../core/with-timeout.ts'
import type { BackendOptions, StartedBackend } from '../../../server/main.ts'
import { GdnCommand, type Parse } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addCommonFlags, blockchainName, type CommonFlags, httpAddress, notEmpty } from '../../flags/common.ts'
import { addServedApiFlags, type ServedApiFlags, servedApiOptions } from '../../flags/served-api.ts'
import { addStoredFilesFlags, type StoredFilesFlags, storedFilesOptions } from '../../flags/stored-files.ts'
import { CLOSE_WITHIN_MS } from '../../io/signals.ts'
import { announceFaults, readFaults } from '../../request/faults.ts'
import { VERSION } from '../../version.ts'
import { runUnlessStopped } from '../serving.ts'
import { runChild } from './run-child.ts'

export interface ExecFlags extends CommonFlags, ServedApiFlags, StoredFilesFlags {
  faults?: string
  fork?: ForkFlag
}

export function command(deps: Deps, run = exec): GdnCommand {
  const execCommand = new GdnCommand({
    about:
      "gdn starts a temporary backend, runs the command, and exits with the command's exit code. For the command, gdn sets GDN_BASE_URL, GDN_API_KEY and a separate GDN_STATE_DIR, and unsets GDN_CONTRACT and GDN_PROFILE. Saved addresses (`gdn wallet add`) are not available to the command, but keystores are. Within the command, --local also selects the temporary backend. Afterwards, gdn deletes the backend and its data, even after an interruption, so you can use gdn local exec in CI. If gdn itself is killed with SIGKILL, the command keeps running, and nothing deletes the files that it then writes to GDN_STATE_DIR.\nWith --fork, the backend uses a copy of a public network at its latest block. gdn only reads from the network, and needs no private key.",
    examples: [
      ['Run tests against a real backend', 'gdn local exec -- npm test'],
      ['Run tests against a backend with injected faults', 'gdn local exec --faults faults.yaml -- npm test'],
      ['Run a script that uses gdn', 'gdn local exec -- sh release-drop.sh'],
      [
        'Run a script against a copy of a public network',
        'GDN_FORK_URL=https://node.example/KEY gdn local exec --fork polygon -- sh release-drop.sh',
      ],
    ],
  })
  execCommand.usageLine = '[flags] -- <command> [args...]'
  return execCommand
    .argument('[command...]')
    .passThroughOptions()
    .with(addServedApiFlags, addStoredFilesFlags)
    .valueFlag('--faults <file>', 'Inject the faults that this file defines', notEmpty)
    .valueFlag(
      '--fork <network=url>',
      'Fork this network; instead of the URL, use @<file>, or set GDN_FORK_URL',
      parseForkFlag,
    )
    .with(addCommonFlags)
    .action(async (argv: string[], flags: ExecFlags) => await run(deps, argv, flags))
}

export async function exec(deps: Deps, argv: readonly string[], flags: ExecFlags): Promise<void> {
  const { signals } = deps
  const [file, ...args] = argv
  if (file === undefined) {
    throw new GdnError('usage', 'there is no command to run', {
      hint: 'Run `gdn local exec -- <command>`.',
    })
  }
  signals.own()
  await withTemporaryDirectory('gdn-exec-', async (folder) => {
    deps.setExitCode(await withBackend(deps, folder, flags, (env, failed) => runChild(deps, file, args, env, failed)))
  })
}

/** @param work receives a signal that is aborted if the backend fails */
async function withBackend(
  deps: Deps,
  folder: string,
  flags: ExecFlags,
  work: (env: NodeJS.ProcessEnv, failed: AbortSignal) => Promise<number>,
): Promise<number> {
  const { env, io, cwd, signals } = deps
  const options = {
    host: '127.0.0.1',
    port: 0,
    dataDir: join(folder, 'data'),
    ...storedFilesOptions(flags, env),
    ...servedApiOptions(flags),
    allowedHosts: [],
    faults: await readFaults(cwd, flags.faults),
    version: VERSION,
    logLevel: 'silent',
    logStream: { write: () => {} },
  } as const
  const started = await runUnlessStopped(signals, start(deps, options, flags.fork))
  if (started === null) throw signals.signal.reason
  const { backend, failureSignal, close } = started
  announceFaults(io, backend.faults)
  try {
    // Omit settings for other servers, because this command's backend doesn't have their contracts.
    const { GDN_PROFILE: _profile, GDN_CONTRACT: _contract, GDN_FORK_URL: _forkUrl, ...rest } = env
    return await work(
      {
        ...rest,
        GDN_BASE_URL: backend.url,
        GDN_API_KEY: backend.apiKey.reveal(),
        GDN_STATE_DIR: join(folder, 'state'),
        GDN_EXEC_DATA_DIR: options.dataDir,
      },
      failureSignal,
    )
  } finally {
    await withTimeout(close(), CLOSE_WITHIN_MS)
  }
}

interface RunningFork {
  backend: StartedBackend
  failureSignal: AbortSignal
  close(): Promise<void>
}

async function start(deps: Deps, options: BackendOptions, flag: ForkFlag | undefined): Promise<RunningFork> {
  if (flag === undefined) {
    const { startBackend } = await import('../../../server/main.ts')
    const backend = await startBackend(options)
    return { backend, failureSignal: new AbortController().signal, close: () => backend.close() }
  }
  const { blockchain } = flag
  const url = await forkUrl(deps, flag)
  const { startForkedBackend } = await import('../../../server/fork/forked-backend.ts')
  const { backend, fork, close } = await startForkedBackend(options, { blockchain, url }, deps.signals.signal)
  deps.io.note(`Forked ${blockchain} at block ${fork.block} from ${new URL(url).host}. Nothing is sent to the network.`)
  return { backend, failureSignal: fork.failureSignal, close }
}

const MAX_URL_FILE_BYTES = 64 * 1024
const FORK_FLAG = '--fork'

/** The value of `--fork`: a blockchain, and the source of its network's URL. */
interface ForkFlag {
  blockchain: EvmBlockchain
  /** The URL, or `@` and the path of a file that contains the URL. If undefined, the URL is in GDN_FORK_URL. */
  urlSource: string | undefined
}

/** Parses a value such as `base=https://…`, `base=@file` or `base`. */
const parseForkFlag: Parse<ForkFlag> = (raw, flag) => {
  const [name = '', ...rest] = raw.split('=')
  const blockchain = blockchainName(name, flag)
  if (!isEvm(blockchain)) {
    throw flagError(flag, `${blockchain} can't be forked`, `Use one of ${KNOWN_EVM_NAMES.join(', ')}.`)
  }
  if (rest.length === 0) return { blockchain, urlSource: undefined }
  const at = rest.join('=')
  return { blockchain, urlSource: at.startsWith('@') ? at : httpAddress(at, flag) }
}

/** Returns the URL of the network to fork. The URL may contain API keys, so it is never printed. */
async function forkUrl({ env, cwd }: Pick<Deps, 'env' | 'cwd'>, { blockchain, urlSource }: ForkFlag): Promise<string> {
  if (urlSource === undefined) {
    const url = env.GDN_FORK_URL
    if (url !== undefined && url !== '') return httpAddress(url, 'GDN_FORK_URL')
    throw new GdnError('usage', `requires the URL of a node of ${blockchain}`, {
      place: { flag: FORK_FLAG },
      hint: `Set GDN_FORK_URL, or use ${FORK_FLAG} ${blockchain}=@<file> or ${FORK_FLAG} ${blockchain}=<url>.`,
    })
  }
  if (!urlSource.startsWith('@')) return urlSource
  const { readSecretFile } = await import('../../../keystore/private-file.ts')
  const file = resolve(cwd, urlSource.slice(1))
  return httpAddress(readSecretFile(file, MAX_URL_FILE_BYTES).trim(), file)
}

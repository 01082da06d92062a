import type { KnownBackends } from '../client/known-backends.ts'
import type { Settings } from '../config/settings.ts'
import { SYSTEM_CLOCK } from '../core/time.ts'
import type { AddressBook } from '../wallet/address-book.ts'
import type { CommandEdge, Deps } from './deps.ts'
import type { Io } from './io/io.ts'
import { VERSION } from './version.ts'

/** Data that a command returns to its caller. */
export interface CommandResult {
  exitCode: number
  /** The last settings that the command loaded. */
  settings?: Settings
}

/**
 * Returns the dependencies of a command.
 *
 * @param run runs another command line
 * @param stateDirFlag returns the value of `--state-dir`
 */
export function makeDeps(
  edge: CommandEdge,
  io: Io,
  result: CommandResult,
  run: Deps['run'],
  stateDirFlag: () => string | undefined,
): Deps {
  const openKeyring: Deps['openKeyring'] =
    edge.openKeyring ??
    (async () => {
      const keyring = await import('../config/keyring.ts')
      return await keyring.openKeyring(edge.env)
    })
  let book: Promise<AddressBook> | undefined
  const addresses: Deps['addresses'] = async () => {
    book ??= Promise.all([import('../wallet/address-book.ts'), import('../config/paths.ts')]).then(
      ([{ openAddressBook }, { stateDirectory, walletsDirectory }]) =>
        openAddressBook({
          folder: walletsDirectory(edge.env),
          stateDir: stateDirectory(edge.env, stateDirFlag()),
          signal: edge.signals.signal,
        }),
    )
    return await book
  }
  let knownBackends: Promise<KnownBackends> | undefined
  const backends = async () => {
    knownBackends ??= import('../client/known-backends.ts').then(
      ({ KnownBackends: Known }) => new Known(`gdn/${VERSION}`),
    )
    return await knownBackends
  }
  const settings: Deps['settings'] = async (flags) => {
    const { loadSettings } = await import('../config/settings.ts')
    const loaded = await loadSettings({ flags, env: edge.env, cwd: edge.cwd, openKeyring })
    result.settings = loaded
    return loaded
  }
  return {
    io,
    env: edge.env,
    cwd: edge.cwd,
    program: edge.program,
    signals: edge.signals,
    now: Date.now,
    startedAt: Date.now(),
    ...(edge.clock ?? SYSTEM_CLOCK),
    openKeyring,
    settings,
    addresses,
    identify: async (server, how) => {
      const { identify } = await import('./connect/identify.ts')
      return await identify(edge, io, await backends(), server, how)
    },
    connect: async (loaded, kind = 'single') => {
      const { connect } = await import('./connect/connect.ts')
      return await connect(loaded, io, edge.env, { kind, backends: await backends() })
    },
    run,
    permit: edge.permit ?? (async () => null),
    quote: edge.quote ?? null,
    checkPlan: edge.checkPlan ?? null,
    setExitCode: (code) => {
      result.exitCode = code
    },
  }
}

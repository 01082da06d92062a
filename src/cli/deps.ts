import type { Readable } from 'node:stream'
import type { Blockchain, EvmBlockchain } from '../api/blockchains.ts'
import type { RunMaxCost } from '../api/run-max-cost.ts'
import type { ApiClient } from '../client/api-client.ts'
import type { IdentifiedBackend } from '../client/backend.ts'
import type { TransportKind } from '../client/create-transport.ts'
import type { Pacer } from '../client/pacer.ts'
import type { OpenKeyring } from '../config/keyring.ts'
import type { Server } from '../config/server.ts'
import type { ConfigFlags, Settings } from '../config/settings.ts'
import type { Command } from '../core/own-command.ts'
import type { Clock, Now } from '../core/time.ts'
import type { AddressBook } from '../wallet/address-book.ts'
import type { CommandSignals } from './io/deadline.ts'
import type { Io } from './io/io.ts'
import type { OutStream } from './io/out-stream.ts'
import type { Signals } from './io/signals.ts'

/** The parts of the process that commands use. Tests replace them. */
export interface Edge {
  env: NodeJS.ProcessEnv
  cwd: string
  stdin: Readable & { isTTY?: boolean }
  stdout: OutStream
  stderr: OutStream
  /** The command line of this program, which is used to start another process in the background. */
  program: Command
  signals: Signals
  /** Opens a keyring. Default: the system keyring. */
  openKeyring?: OpenKeyring
  /** Permits spending. Default: permits everything that the command itself confirms. */
  permit?: PermitSpending
  /** Called by dry runs to show the cost. Default: the cost isn't shown. */
  quote?: QuoteSpending | undefined
  /** Compares the requests with a plan. Default: the command has no plan. */
  checkPlan?: CheckPlan | undefined
  /** The clock. Default: the system clock. */
  clock?: Clock
}

/** An `Edge` with the signals of one command. */
export type CommandEdge = Edge & { signals: CommandSignals }

/** Requests that create a collection, or create or change NFTs. */
export type SpendingKind = { kind: 'collection'; name: string; royaltyBps: number } | { kind: 'nft'; count: number }

/** The requests that a command is about to send. */
export type Spending = SpendingKind & {
  connection: Pick<Connection, 'client' | 'server' | 'settings'>
  /** The blockchain; null if unknown. */
  blockchain: Blockchain | null
  /** Looks up an unknown blockchain. */
  findBlockchain?: (() => Promise<Blockchain | null>) | undefined
  /** The run to which the requests belong; null for changes that a plan makes. */
  run: SpendingRun | null
}

/** A run of a manifest, or a single operation. */
export interface SpendingRun {
  id: string
  /** Whether the command sends a single request, which takes effect at most once. */
  isOperation: boolean
  /**
   * Whether a server that supports cost limits can limit these requests: they are mints, or the command has a limit for
   * them.
   */
  canLimit: boolean
  /** Number of NFTs in earlier requests that are accepted but not minted yet. */
  accepted: number
  /** The run's limit on this machine; null if there is none. */
  maxCost: RunMaxCost | null
}

/** Transactions that a wallet on this machine is about to sign. The wallet itself pays for them. */
export interface WalletSpending {
  kind: 'wallet'
  blockchain: EvmBlockchain
  settings: Settings
  /** The symbol of the coin; null if unknown. */
  coin: string | null
  /** Whether the transactions may cost money. They are free only on an embedded chain of the server. */
  isPublic: boolean
  /** The maximum total cost of the transactions, in wei. */
  maxCostWei: bigint
}

/**
 * Called before any request or transaction that may cost money. Throws to refuse the spending. Returns the cost limit
 * to set in each request, in wei; null if only the run's own limit applies.
 */
export type PermitSpending = (spending: Spending | WalletSpending) => Promise<bigint | null>

/**
 * Called by a dry run with the request that it would send, so that the caller can show the cost. A real run shows the
 * cost in its prompt instead.
 *
 * @param gas returns the typical gas and data of the requests; null if unknown
 * @param refuseAbove throws `max_cost` if the requests may exceed a limit for which the dry run has no flag
 */
export type QuoteSpending = (
  spending: Spending | WalletSpending,
  gas: (() => Promise<{ gas: bigint; bytes: number } | null>) | null,
  refuseAbove?: (limit: { commandLimit: bigint | null; only: 'mint' | undefined }) => Promise<void>,
) => Promise<void>

/**
 * The effect of a command and the facts on which the effect depends. The keys are NFT IDs, names of settings, or words
 * such as `request` and `rows`.
 */
export type Intent = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/**
 * Called by a dry run, and before the first request of a real run, with the intended effect of the command. Throws if
 * the effect differs from the plan that was shown. A request that was already accepted isn't checked again.
 *
 * @param atStart facts that change while the plan runs. They are compared only before the first request.
 */
export type CheckPlan = (intent: Intent, atStart?: Intent) => void

/** A client that uploads files to the server, or to the profile's storage if the server doesn't accept uploads. */
export interface UploadingClient extends ApiClient {
  /** Returns whether local files can be uploaded. Throws if the storage can't be used. */
  hasPlaceForFiles(signal?: AbortSignal): Promise<boolean>
}

export interface Connection {
  client: UploadingClient
  /** Limits the client's rate. A batch reserves its requests in advance. */
  pacer: Pacer
  server: Server
  settings: Settings
}

/** All external dependencies of a command. */
export interface Deps extends Clock {
  io: Io
  env: NodeJS.ProcessEnv
  cwd: string
  program: Edge['program']
  signals: CommandSignals
  now: Now
  /** The time when this command started, in milliseconds since the epoch. */
  startedAt: number
  openKeyring: OpenKeyring
  /** Merges flags, environment, project and user configuration. */
  settings(flags: ConfigFlags): Promise<Settings>
  /** Opens the address book with the named wallets and addresses on this machine. */
  addresses(): Promise<AddressBook>
  /** Identifies the backend of a server once, without sending the key. Later requests are only sent to this backend. */
  identify(server: Server, how?: 'once' | 'patiently'): Promise<IdentifiedBackend>
  /** Connects to the server that the settings select. Use `bulk` for many requests. */
  connect(settings: Settings, kind?: TransportKind): Promise<Connection>
  permit: PermitSpending
  quote: QuoteSpending | null
  checkPlan: CheckPlan | null
  /** Runs another command line in this process. Used by `gdn mcp`, which offers commands to agents. */
  run(argv: readonly string[], edge: Edge): Promise<number>
  /** Sets the exit code of a command that reports no error but may exit with a code other than 0. */
  setExitCode(code: number): void
}

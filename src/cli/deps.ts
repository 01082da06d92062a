import type { Readable } from 'node:stream'
import type { Blockchain, EvmBlockchain } from '../api/blockchains.ts'
import type { ApiClient } from '../client/api-client.ts'
import type { SeenBackend } from '../client/backend.ts'
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

/** The parts of the process that commands use. Tests pass their own. */
export interface Edge {
  env: NodeJS.ProcessEnv
  cwd: string
  stdin: Readable & { isTTY?: boolean }
  stdout: OutStream
  stderr: OutStream
  /** How this program was started, so that it can be started again in the background. */
  program: Command
  signals: Signals
  /** Defaults to the system keyring. */
  openKeyring?: OpenKeyring
  /** Defaults to permitting everything that the command itself confirms. */
  permit?: PermitSpending
  /** Called by dry runs. Default: nothing shows their cost. */
  quote?: QuoteSpending | undefined
  /** Default: no plan was made of the command. */
  checkPlan?: CheckPlan | undefined
  /** Defaults to the system's clock. */
  clock?: Clock
}

/** The part of it that a command receives. */
export type CommandEdge = Edge & { signals: CommandSignals }

/** Requests that create a collection, or create or change NFTs. */
export type SpendingKind = { kind: 'collection'; name: string; royaltyBps: number } | { kind: 'nft'; count: number }

/** The requests that a command is about to send. */
export type Spending = SpendingKind & {
  connection: Pick<Connection, 'client' | 'server' | 'settings'>
  /** Null if it is not known. */
  blockchain: Blockchain | null
  /** Looks up a blockchain that is not known. */
  findBlockchain?: (() => Promise<Blockchain | null>) | undefined
  /** The run of the requests; null for changes that a plan makes. */
  run: SpendingRun | null
}

/** A run of a manifest, or a single operation. */
export interface SpendingRun {
  id: string
  /** Whether the command sends one request, which takes effect at most once. */
  isOperation: boolean
  /** Whether a server that limits costs limits that of these requests: they mint. */
  canLimit: boolean
  /** NFTs of earlier requests that are accepted and not minted. */
  accepted: number
  /** The limit that the run has here, in wei; null if it has none. `isSet`: this command was given it. */
  maxCost: { wei: bigint; isSet: boolean } | null
}

/** Transactions that a wallet of this machine is about to sign. It pays for them itself. */
export interface WalletSpending {
  kind: 'wallet'
  blockchain: EvmBlockchain
  settings: Settings
  /** Symbol of the coin; null if it isn't known. */
  coin: string | null
  /** Whether they may cost money: it is no embedded chain of the server. */
  isPublic: boolean
  /** The most that they can cost together, in wei. */
  most: bigint
}

/**
 * Called before anything that may cost money is sent. Throws to refuse it. Returns the limit of the run's cost that
 * each request has to carry, in wei; null if there is none in addition to that of the run.
 */
export type PermitSpending = (spending: Spending | WalletSpending) => Promise<bigint | null>

/**
 * Called by a dry run with the request that it would send. At a terminal, the prompt before the request shows its cost.
 *
 * @param gas what the requests typically use; null if that isn't known
 */
export type QuoteSpending = (
  spending: Spending | WalletSpending,
  gas: (() => Promise<{ gas: bigint; bytes: number } | null>) | null,
) => Promise<void>

/** The effect of a command and the facts that it depends on, by NFT ID, name of a setting or `request`. */
export type Intent = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/**
 * Called by a dry run with what the command would do, and before the first request with what it is about to do. Throws
 * if that isn't the plan that was shown. A request that was accepted before isn't checked again.
 *
 * @param atStart what changes while the plan runs, so it is compared only before
 */
export type CheckPlan = (intent: Intent, atStart?: Intent) => void

/** A client that uploads to the server, or to the storage of the profile if the server accepts no uploads. */
export interface UploadingClient extends ApiClient {
  /** Returns whether local files can be uploaded. Throws for a storage that can't be used. */
  hasPlaceForFiles(signal?: AbortSignal): Promise<boolean>
}

/** A client of the API and its server. */
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
  /** When this command started, in milliseconds. */
  startedAt: number
  openKeyring: OpenKeyring
  /** Merges flags, environment, project and user configuration. */
  settings(flags: ConfigFlags): Promise<Settings>
  /** The wallets and addresses that have a name on this machine. */
  addresses(): Promise<AddressBook>
  /** Identifies the backend of a server once, without the key. Later requests go only to that backend. */
  identify(server: Server, how?: 'once' | 'patiently'): Promise<SeenBackend>
  /** Returns a client of the server that the settings name. Use `bulk` for many requests. */
  connect(settings: Settings, kind?: TransportKind): Promise<Connection>
  permit: PermitSpending
  quote: QuoteSpending | null
  checkPlan: CheckPlan | null
  /** Runs another command line in this process, for the command that serves them to agents. */
  run(argv: readonly string[], edge: Edge): Promise<number>
  /** Sets the exit code of a command that reports no error but does not exit with 0. */
  setExitCode(code: number): void
}

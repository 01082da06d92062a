import type { Readable } from 'node:stream'
import type { ApiClient } from '../client/api-client.ts'
import type { SeenBackend } from '../client/backend.ts'
import type { TransportKind } from '../client/create-transport.ts'
import type { Pacer } from '../client/pacer.ts'
import type { OpenKeyring } from '../config/keyring.ts'
import type { Server } from '../config/server.ts'
import type { ConfigFlags, Settings } from '../config/settings.ts'
import type { Now } from '../core/time.ts'
import type { AddressBook } from '../wallet/address-book.ts'
import type { Io } from './io/io.ts'
import type { OutStream } from './io/out-stream.ts'
import type { Signals } from './io/signals.ts'

/** What the process hands to the command line. Tests hand in their own. */
export interface Edge {
  env: NodeJS.ProcessEnv
  cwd: string
  stdin: Readable & { isTTY?: boolean }
  stdout: OutStream
  stderr: OutStream
  /** How this program was started, to start it again in the background. */
  program: { node: string; script: string }
  signals: Signals
  /** The system's own, where none is given. */
  openKeyring?: OpenKeyring
}

/** A client whose uploads go to the server, or where it takes none, to the storage that the profile names. */
export interface UploadingClient extends ApiClient {
  /** Whether local files have a place to go to; asked before anything is sent. Throws for a storage that can't be used. */
  hasPlaceForFiles(signal?: AbortSignal): Promise<boolean>
}

/** A client of the API, and the server it talks to. */
export interface Connection {
  client: UploadingClient
  /** The pace that the client keeps to; a batch asks it for leave beforehand. */
  pacer: Pacer
  server: Server
  settings: Settings
}

/** Everything a command reaches the world by. */
export interface Deps {
  io: Io
  env: NodeJS.ProcessEnv
  cwd: string
  program: Edge['program']
  signals: Signals
  now: Now
  /** When this command was started. */
  startedAt: number
  /** Rejects with the signal's reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  openKeyring: OpenKeyring
  /** Flags, environment, project and user configuration, put together. */
  settings(flags: ConfigFlags): Promise<Settings>
  /** The wallets and addresses that have a name on this machine. */
  addresses(): Promise<AddressBook>
  /** Which backend answers at a server, asked once and without the key; later requests go to that backend only. */
  identify(server: Server, how?: 'once' | 'patiently'): Promise<SeenBackend>
  /** A client of the server that the settings name; `bulk` for many requests. */
  connect(settings: Settings, kind?: TransportKind): Promise<Connection>
  /** The exit code of a command that reports no error and yet doesn't end with 0. */
  setExitCode(code: number): void
}

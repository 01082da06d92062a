import { userInfo } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { HandleEmptyInListsPlugin, Kysely, replaceWithNoncontingentExpression, sql } from 'kysely'
import pg from 'pg'
import { GdnError, messageOf, systemCode } from '../../../core/errors.ts'
import type { Secret } from '../../../core/secret.ts'
import { migrateSchema } from '../migrate.ts'
import type { Store } from '../open-store.ts'
import type { Db, Schema } from '../schema.ts'
import { type DatabaseAddress, parseDatabaseUrl } from './database-url.ts'
import { createPostgresDialect } from './dialect.ts'
import { isConflict } from './gone.ts'

export interface PostgresOptions {
  url: Secret
  /**
   * URL of the server itself if `url` points to a pooler. It is used for resources that exist as long as a connection.
   */
  directUrl?: Secret | undefined
  /** Maximum number of connections. */
  maxConnections?: number
  /** For administration while other processes run. If set, an older schema is rejected instead of migrated. */
  requireCurrentSchema?: boolean
  /** For inspection only. If set, an older schema is accepted and not migrated. */
  unchecked?: boolean
  /** Timeout of a statement in milliseconds. Tests use a shorter one. */
  statementTimeoutMs?: number
}

const MAX_CONNECTIONS = 10
const CONNECT_TIMEOUT_MS = 5000
/**
 * Default timeout of a statement in milliseconds. If it expires, the server is probably gone, and the operating system
 * hasn't noticed.
 */
const STATEMENT_TIMEOUT_MS = 60_000
/** Delay in milliseconds until the first keepalive probe of a connection without a statement timeout. */
const KEEP_ALIVE_DELAY_MS = 10_000
const MIN_POSTGRES_VERSION = 15
const MAX_CONFLICT_ATTEMPTS = 20

/**
 * Parses 64-bit integers as numbers. All of them are times or counts, far below 2^53. Larger values are stored as text.
 */
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    return oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)
  },
} as pg.CustomTypesConfig

export const clientConfig = ({ host, port, database, user, password, tls }: DatabaseAddress): pg.ClientConfig => ({
  host,
  port,
  database,
  user,
  types,
  ...(password === undefined ? {} : { password: () => password.reveal() }),
  ssl: tls,
  application_name: 'gdn',
  keepAlive: true,
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
})

/** The operating system's user name, the default if the URL has no user. */
const systemUser = () => userInfo().username

/**
 * Opens a PostgreSQL database (15 or newer) that any number of processes share, and migrates it to the newest schema.
 *
 * @throws GdnError `invalid_config` if the URL is invalid, `unreachable` if the server doesn't respond, `data_dir` if
 *   another version of gdn created the schema
 */
export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const address = parseDatabaseUrl(options.url, systemUser)
  const direct = options.directUrl === undefined ? address : parseDatabaseUrl(options.directUrl, systemUser)
  const {
    maxConnections = MAX_CONNECTIONS,
    statementTimeoutMs = STATEMENT_TIMEOUT_MS,
    requireCurrentSchema = false,
    unchecked = false,
  } = options
  const db = connect({ ...clientConfig(address), max: maxConnections, query_timeout: statementTimeoutMs })
  // Run this without a statement timeout. Creating an index of millions of rows takes minutes, and other processes wait
  // for the one that migrates.
  const runPatiently = async (work: (db: Kysely<Schema>) => Promise<void>) => {
    const patient = connect({ ...clientConfig(address), max: 1, keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS })
    try {
      await repeatConflicts(() => work(patient))
    } finally {
      await patient.destroy()
    }
  }
  try {
    await refuseOldServers(db, address)
    await migrateSchema(db, {
      name: address.displayUrl,
      requireCurrentSchema: requireCurrentSchema,
      unchecked,
      runWithoutTimeout: runPatiently,
    })
  } catch (cause) {
    await db.destroy()
    throw cause instanceof GdnError ? cause : cannotOpenError(address, cause)
  }
  return {
    db,
    postgres: { directConfig: clientConfig(direct), name: address.displayUrl },
    transaction: (work) => repeatConflicts(() => db.transaction().execute(work)),
    close: () => db.destroy(),
  }
}

function connect(config: pg.PoolConfig): Kysely<Schema> {
  const pool = new pg.Pool({ ...config, allowExitOnIdle: true })
  // A broken idle connection is removed from the pool, and the next query uses another connection.
  pool.on('error', () => {})
  // If a connection breaks inside a transaction, between two queries, the next query reports the error.
  pool.on('connect', (client) => void client.on('error', () => {}))
  return new Kysely<Schema>({
    dialect: createPostgresDialect(pool),
    plugins: [new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression })],
  })
}

/** Retries work that was aborted in favor of another transaction. Nothing of the aborted work was committed. */
async function repeatConflicts<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tried = 1; ; tried++) {
    try {
      return await work()
    } catch (error) {
      if (!isConflict(error) || tried === MAX_CONFLICT_ATTEMPTS) throw error
      await delay(Math.random() * 10 * tried)
    }
  }
}

async function refuseOldServers(db: Db, { displayUrl }: DatabaseAddress): Promise<void> {
  const { rows } = await sql<{ version: number }>`select current_setting('server_version_num')::int as version`.execute(
    db,
  )
  const major = Math.floor((rows[0]?.version ?? 0) / 10_000)
  if (major >= MIN_POSTGRES_VERSION) return
  throw new GdnError('invalid_config', `${displayUrl} is PostgreSQL ${major}`, {
    hint: `Use PostgreSQL ${MIN_POSTGRES_VERSION} or newer.`,
  })
}

const ROOT_CERTIFICATE_HINT =
  'Set sslrootcert in the database URL to the file of the authority that issued the server certificate.'
const CONNECTION_ERROR_HINTS: Readonly<Record<string, string>> = {
  '28P01': 'Check the user and password in the database URL.',
  SELF_SIGNED_CERT_IN_CHAIN: ROOT_CERTIFICATE_HINT,
  DEPTH_ZERO_SELF_SIGNED_CERT: ROOT_CERTIFICATE_HINT,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ROOT_CERTIFICATE_HINT,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ROOT_CERTIFICATE_HINT,
  CERT_SIGNATURE_FAILURE: ROOT_CERTIFICATE_HINT,
  CERT_HAS_EXPIRED: 'Renew the certificate of the server, which has expired.',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'Use the host name of the server certificate in the database URL, or sslmode=verify-ca with your own authority.',
  '28000': 'Check the user and password in the database URL, and pg_hba.conf of the server.',
  '3D000': 'Create the database first with `createdb`.',
  '42501': 'Use a user that owns the database, or that may create tables in its schema public.',
}

function cannotOpenError({ displayUrl, tls }: DatabaseAddress, cause: unknown): GdnError {
  const code = systemCode(cause) ?? ''
  const plain = tls !== false && /does not support SSL/i.test(messageOf(cause))
  const hint = plain
    ? 'Enable encryption on the server, or add sslmode=disable to the URL on a private network.'
    : (CONNECTION_ERROR_HINTS[code] ?? 'Check that the server is running, and check the database URL.')
  const reason = messageOf(cause) === '' ? code : messageOf(cause)
  const errorCode = code in CONNECTION_ERROR_HINTS ? 'invalid_config' : 'unreachable'
  return new GdnError(errorCode, `can't open the database ${displayUrl}: ${reason}`, { hint, cause })
}

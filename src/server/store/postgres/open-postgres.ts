import { userInfo } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { HandleEmptyInListsPlugin, Kysely, replaceWithNoncontingentExpression, sql } from 'kysely'
import pg from 'pg'
import { GdnError, messageOf, systemCode } from '../../../core/errors.ts'
import type { Secret } from '../../../core/secret.ts'
import { migrate } from '../migrate.ts'
import type { Store } from '../open-store.ts'
import type { Db, Schema } from '../schema.ts'
import { type DatabaseAddress, parseDatabaseUrl } from './database-url.ts'
import { createPostgresDialect } from './dialect.ts'
import { isConflict } from './gone.ts'

export interface PostgresOptions {
  url: Secret
  /** Of the server itself where `url` is a pooler's: for what lives as long as a connection. */
  directUrl?: Secret | undefined
  /** Connections at once. */
  connections?: number
  /** For administration beside running processes: the schema is left as it is, and an older one refused. */
  beside?: boolean
  /** To look at it only: whatever made it. */
  unchecked?: boolean
  /** For tests, which haven't a minute. */
  answerWithinMs?: number
}

const CONNECTIONS = 10
const CONNECT_WITHIN_MS = 5000
/** A statement without an answer after this time has none: the server is gone, and the system hasn't noticed. */
const ANSWER_WITHIN_MS = 60_000
/** So soon a connection without such a limit is asked whether there still is a server. */
const KEEP_ALIVE_AFTER_MS = 10_000
const LEAST_VERSION = 15
const MOST_TRIES = 20

/** Numbers of 64 bits are times and counts here, far below 2^53; whatever may be larger is kept as text. */
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    return oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)
  },
} as pg.CustomTypesConfig

/** How the driver is told where to go. */
export const clientConfig = ({ host, port, database, user, password, tls }: DatabaseAddress): pg.ClientConfig => ({
  ...{ host, port, database, user, types },
  ...(password === undefined ? {} : { password: () => password.reveal() }),
  ssl: tls,
  application_name: 'gdn',
  keepAlive: true,
  connectionTimeoutMillis: CONNECT_WITHIN_MS,
})

/** The system's name of who runs this process: who asks where the URL doesn't say. */
const systemUser = () => userInfo().username

/**
 * Opens a PostgreSQL database (15 or newer) that any number of processes share, and brings it to the newest schema.
 *
 * @throws GdnError `invalid_config` for a URL that is none; `unreachable`; `data_dir` for one of another version of gdn
 */
export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const address = parseDatabaseUrl(options.url, systemUser())
  const direct = options.directUrl === undefined ? address : parseDatabaseUrl(options.directUrl, systemUser())
  const { connections = CONNECTIONS, answerWithinMs = ANSWER_WITHIN_MS, beside = false } = options
  const db = connect({ ...clientConfig(address), max: connections, query_timeout: answerWithinMs })
  // An index of millions takes minutes, and who isn't the first waits for who is.
  const patiently = async (work: (db: Kysely<Schema>) => Promise<void>) => {
    const patient = connect({ ...clientConfig(address), max: 1, keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS })
    try {
      await repeatConflicts(() => work(patient))
    } finally {
      await patient.destroy()
    }
  }
  try {
    await refuseOldServers(db, address)
    if (!options.unchecked) await migrate(db, { name: address.shown, beside, patiently })
  } catch (cause) {
    await db.destroy()
    throw cause instanceof GdnError ? cause : cannotOpen(address, cause)
  }
  return {
    db,
    postgres: { direct: clientConfig(direct), name: address.shown },
    transaction: (work) => repeatConflicts(() => db.transaction().execute(work)),
    close: () => db.destroy(),
  }
}

function connect(config: pg.PoolConfig): Kysely<Schema> {
  const pool = new pg.Pool({ ...config, allowExitOnIdle: true })
  // One that breaks while nobody uses it is taken out of the pool; whoever asks next gets another.
  pool.on('error', () => {})
  // One that breaks in the midst of a transaction, between two queries, tells nobody else; its next query fails.
  pool.on('connect', (client) => void client.on('error', () => {}))
  return new Kysely<Schema>({
    dialect: createPostgresDialect(pool),
    plugins: [new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression })],
  })
}

/** Work that was ended for the sake of another transaction's is done again: nothing of it had stayed. */
async function repeatConflicts<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tried = 1; ; tried++) {
    try {
      return await work()
    } catch (error) {
      if (!isConflict(error) || tried === MOST_TRIES) throw error
      await delay(Math.random() * 10 * tried)
    }
  }
}

async function refuseOldServers(db: Db, { shown }: DatabaseAddress): Promise<void> {
  const { rows } = await sql<{ version: number }>`select current_setting('server_version_num')::int as version`.execute(
    db,
  )
  const major = Math.floor((rows[0]?.version ?? 0) / 10_000)
  if (major >= LEAST_VERSION) return
  throw new GdnError('invalid_config', `${shown} is PostgreSQL ${major}`, {
    hint: `gdn needs ${LEAST_VERSION} or newer`,
  })
}

const AUTHORITY =
  'its certificate is of an authority that is not trusted here: name the file of the right one in the database URL by sslrootcert'
const HINTS: Readonly<Record<string, string>> = {
  '28P01': 'check user and password of the database URL',
  SELF_SIGNED_CERT_IN_CHAIN: AUTHORITY,
  DEPTH_ZERO_SELF_SIGNED_CERT: AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: AUTHORITY,
  CERT_SIGNATURE_FAILURE: AUTHORITY,
  CERT_HAS_EXPIRED: 'its certificate has expired: renew it on the server',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'name the server in the database URL as its certificate does, or say sslmode=verify-ca where its authority is your own',
  '28000': 'check user and password of the database URL, and pg_hba.conf of the server',
  '3D000': 'create the database first: createdb',
  '42501': 'the user must own the database, or may create tables in its schema public',
}

function cannotOpen({ shown, tls }: DatabaseAddress, cause: unknown): GdnError {
  const code = systemCode(cause) ?? ''
  const plain = tls !== false && /does not support SSL/i.test(messageOf(cause))
  const hint = plain
    ? 'the server does not encrypt: have it do so, or add sslmode=disable to the URL where nobody else can listen'
    : (HINTS[code] ?? 'check that the server runs, and the database URL')
  const reason = messageOf(cause) === '' ? code : messageOf(cause)
  const word = code in HINTS ? 'invalid_config' : 'unreachable'
  return new GdnError(word, `can't open the database ${shown}: ${reason}`, { hint, cause })
}

import { existsSync, readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { GdnError, messageOf } from '../../../core/errors.ts'
import { parseUrl } from '../../../core/parse-url.ts'
import { Secret } from '../../../core/secret.ts'

/** Where a PostgreSQL database is, and who asks. */
export interface DatabaseAddress {
  /** A name or address, or the folder of a Unix socket. */
  host: string
  port: number
  database: string
  user: string
  password: Secret | undefined
  /** False: plain. */
  tls: ConnectionOptions | false
  /** What may be shown: no password, and no parameters. */
  shown: string
}

const PORT = 5432
const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const
type Mode = (typeof MODES)[number]
const PARAMETERS = new Set(['host', 'port', 'dbname', 'user', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'])

/** What stands in for the host of a URL that names a folder in its parameters, which `URL` would refuse. */
const NO_HOST = 'socket.invalid'

/**
 * Reads a URL as psql and every other client takes it: `postgres://user:password@host:5432/database?sslmode=verify-full`,
 * or with the folder of a Unix socket, `postgres:///database?host=/run/postgresql`. No message quotes it: it may hold a
 * password.
 *
 * @param user who asks where the URL doesn't say
 * @throws GdnError `invalid_config`
 */
export function parseDatabaseUrl(text: Secret, user: string): DatabaseAddress {
  const spelled = text.reveal().trim()
  const url = parseUrl(spelled.replace(/^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)(?=[/?#]|$)/, `$1${NO_HOST}`))
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw refuse('is not the URL of a PostgreSQL database', 'write postgres://user@host:5432/database')
  }
  const parameters = new Map(url.searchParams)
  const unknown = [...parameters.keys()].find((name) => !PARAMETERS.has(name))
  if (unknown !== undefined) {
    throw refuse(`has the parameter ${unknown}, which isn't known here`, `use ${[...PARAMETERS].join(', ')}`)
  }
  const named = url.hostname === NO_HOST ? '' : url.hostname.replace(/^\[|\]$/g, '')
  const host = parameters.get('host') ?? (named === '' ? 'localhost' : decode(named))
  const port = Number(parameters.get('port') ?? (url.port === '' ? PORT : url.port))
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw refuse('has a port that is none', 'give one to 65535')
  const asks = parameters.get('user') ?? (url.username === '' ? user : decode(url.username))
  const database = parameters.get('dbname') ?? (url.pathname.length > 1 ? decode(url.pathname.slice(1)) : asks)
  const password = url.password === '' ? undefined : new Secret(decode(url.password))
  const local = isLocal(host)
  const shown = `postgres://${local ? '' : asks === '' ? '' : `${asks}@`}${host}${host.startsWith('/') ? '' : `:${port}`}/${database}`
  return { host, port, database, user: asks, password, tls: readTls(parameters, local), shown }
}

const isLocal = (host: string) =>
  host.startsWith('/') || host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)

/**
 * As libpq has it, but for one thing: a server on another machine that doesn't encrypt is refused unless the URL says
 * that it needn't (`sslmode=disable`), where libpq would fall back without a word.
 */
function readTls(parameters: ReadonlyMap<string, string>, local: boolean): ConnectionOptions | false {
  const given = parameters.get('sslmode')
  if (given !== undefined && !(MODES as readonly string[]).includes(given)) {
    throw refuse(`has sslmode ${JSON.stringify(given)}`, `use one of ${MODES.join(', ')}`)
  }
  const rootFile = parameters.get('sslrootcert')
  const mode = (given ?? 'prefer') as Mode
  if (mode === 'disable' || ((mode === 'prefer' || mode === 'allow') && local)) return false
  const root = rootFile === undefined || rootFile === 'system' ? {} : { ca: readCertificate(rootFile) }
  const [certificate, key] = [parameters.get('sslcert'), parameters.get('sslkey')]
  const own = {
    ...(certificate === undefined ? {} : { cert: readCertificate(certificate) }),
    ...(key === undefined ? {} : { key: readCertificate(key) }),
  }
  // A root that is named is checked, whatever the mode: so libpq has it.
  // Public authorities have certified everybody: without its name a server of theirs is anybody. So libpq has it, too.
  if (mode === 'verify-full' || rootFile === 'system') return { ...root, ...own, rejectUnauthorized: true }
  if (mode === 'verify-ca' || rootFile !== undefined) {
    return { ...root, ...own, rejectUnauthorized: true, checkServerIdentity: () => undefined }
  }
  return { ...own, rejectUnauthorized: false }
}

function readCertificate(path: string): string {
  if (!existsSync(path)) throw refuse(`names the file ${path}, which isn't there`, 'check sslrootcert, sslcert, sslkey')
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw refuse(`names the file ${path}, which can't be read: ${messageOf(cause)}`, 'check its rights')
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw refuse('is not properly encoded', 'write what is special in a URL, such as @ in a password, as %40')
  }
}

const refuse = (what: string, hint: string) => new GdnError('invalid_config', `the database URL ${what}`, { hint })

import { existsSync, readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { GdnError, messageOf } from '../../../core/errors.ts'
import { parseUrl } from '../../../core/parse-url.ts'
import { Secret } from '../../../core/secret.ts'

/** The parsed location of a PostgreSQL database, with its user. */
export interface DatabaseAddress {
  /** The host: a name, an address, or the folder of a Unix socket. */
  host: string
  port: number
  database: string
  user: string
  password: Secret | undefined
  /** TLS options; false for an unencrypted connection. */
  tls: ConnectionOptions | false
  /** The URL for display, without password and parameters. */
  displayUrl: string
}

const PORT = 5432
const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const
type SslMode = (typeof SSL_MODES)[number]
const URL_PARAMETERS = new Set(['host', 'port', 'dbname', 'user', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'])

/** The hint omits the user, because errors redact all text between `//` and `@`, which may contain a password. */
const URL_FORMAT_HINT = 'Use the form postgres://<host>:5432/<database>?user=<user>.'

/** Placeholder for an empty host, which `URL` would reject. The host is then a parameter, or localhost by default. */
const HOST_PLACEHOLDER = 'socket.invalid'

/**
 * Parses a URL as psql and other clients do: `postgres://user:password@host:5432/database?sslmode=verify-full`, or with
 * the folder of a Unix socket, `postgres:///database?host=/run/postgresql`. Errors never quote the URL, because it may
 * contain a password.
 *
 * @param user returns the user if the URL has none
 * @throws GdnError `invalid_config`
 */
export function parseDatabaseUrl(text: Secret, user: () => string): DatabaseAddress {
  const trimmed = text.reveal().trim()
  const url = parseUrl(trimmed.replace(/^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)(?=[/?#]|$)/, `$1${HOST_PLACEHOLDER}`))
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw databaseUrlError('is not a PostgreSQL URL', URL_FORMAT_HINT)
  }
  const parameters = new Map(url.searchParams)
  const unknown = [...parameters.keys()].find((name) => !URL_PARAMETERS.has(name))
  if (unknown !== undefined) {
    throw databaseUrlError(`has the unknown parameter ${unknown}`, `Use only ${[...URL_PARAMETERS].join(', ')}.`)
  }
  const hostname = url.hostname === HOST_PLACEHOLDER ? '' : url.hostname.replace(/^\[|\]$/g, '')
  const host = parameters.get('host') ?? (hostname === '' ? 'localhost' : decode(hostname))
  const port = Number(parameters.get('port') ?? (url.port === '' ? PORT : url.port))
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw databaseUrlError('has an invalid port', 'Use a port from 1 to 65535.')
  const userName = parameters.get('user') ?? (url.username === '' ? readUserName(user) : decode(url.username))
  const database = parameters.get('dbname') ?? (url.pathname.length > 1 ? decode(url.pathname.slice(1)) : userName)
  const password = url.password === '' ? undefined : new Secret(decode(url.password))
  const local = isLocal(host)
  const displayUrl = `postgres://${local ? '' : userName === '' ? '' : `${userName}@`}${host}${host.startsWith('/') ? '' : `:${port}`}/${database}`
  return { host, port, database, user: userName, password, tls: readTls(parameters, local), displayUrl }
}

/** Returns the name of the process's user. Throws if there is none, for example for a random UID in a container. */
function readUserName(user: () => string): string {
  try {
    return user()
  } catch {
    throw databaseUrlError('has no user, and the user of this process has no name', URL_FORMAT_HINT)
  }
}

const isLocal = (host: string) =>
  host.startsWith('/') || host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)

/**
 * Returns the TLS options that libpq would use, with one exception: if a server on another machine is unencrypted, the
 * connection fails unless the URL allows it (`sslmode=disable`). libpq would silently use an unencrypted connection.
 */
function readTls(parameters: ReadonlyMap<string, string>, local: boolean): ConnectionOptions | false {
  const sslMode = parameters.get('sslmode')
  if (sslMode !== undefined && !(SSL_MODES as readonly string[]).includes(sslMode)) {
    throw databaseUrlError(`has the unknown sslmode ${JSON.stringify(sslMode)}`, `Use one of ${SSL_MODES.join(', ')}.`)
  }
  const rootFile = parameters.get('sslrootcert')
  const mode = (sslMode ?? 'prefer') as SslMode
  if (mode === 'disable' || ((mode === 'prefer' || mode === 'allow') && local)) return false
  const root = rootFile === undefined || rootFile === 'system' ? {} : { ca: readCertificate(rootFile) }
  const [certificate, key] = [parameters.get('sslcert'), parameters.get('sslkey')]
  const clientCertificate = {
    ...(certificate === undefined ? {} : { cert: readCertificate(certificate) }),
    ...(key === undefined ? {} : { key: readCertificate(key) }),
  }
  // Like libpq, always check a given root certificate, regardless of the mode. With public certificate authorities,
  // also check the server's name, because they issue certificates for any server.
  if (mode === 'verify-full' || rootFile === 'system')
    return { ...root, ...clientCertificate, rejectUnauthorized: true }
  if (mode === 'verify-ca' || rootFile !== undefined) {
    return { ...root, ...clientCertificate, rejectUnauthorized: true, checkServerIdentity: () => undefined }
  }
  return { ...clientCertificate, rejectUnauthorized: false }
}

function readCertificate(path: string): string {
  if (!existsSync(path))
    throw databaseUrlError(`refers to the file ${path}, which does not exist`, 'Check sslrootcert, sslcert and sslkey.')
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw databaseUrlError(
      `refers to the file ${path}, which can't be read: ${messageOf(cause)}`,
      'Check its permissions.',
    )
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw databaseUrlError(
      'is not percent-encoded correctly',
      'Percent-encode special characters, such as @ in a password as %40.',
    )
  }
}

const databaseUrlError = (problem: string, hint: string) =>
  new GdnError('invalid_config', `the database URL ${problem}`, { hint })

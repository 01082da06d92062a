import { GdnError } from '../../../core/errors.ts'
import { Secret } from '../../../core/secret.ts'
import { parsePassword, passwordProblem } from '../../../keystore/password.ts'
import { readSecretFile } from '../../../keystore/private-file.ts'
import { type AwsCredentials, parseCredentials, readAwsCredentials } from '../../../object-store/aws-credentials.ts'
import { readCredential } from '../../settings/credentials.ts'
import type { PinningEntry, S3Entry, StorageEntry } from '../../settings/storage-schema.ts'
import { openKuboNode } from './kubo-node.ts'
import { openPinningService, type PinningService } from './pinning-service.ts'
import type { RemoteFiles } from './remote-files.ts'
import { openS3Bucket } from './s3-bucket.ts'

const MAX_SECRET_BYTES = 64 * 1024
/**
 * Interval in milliseconds after which secrets are read again, because temporary credentials are replaced while the
 * backend runs.
 */
const SECRET_FRESH_MS = 60_000

export interface RemoteContext {
  /** The directory where systemd stores a service's credentials (CREDENTIALS_DIRECTORY). */
  credentialsDirectory: string | undefined
  /** The environment, which may have AWS_* variables. */
  env: NodeJS.ProcessEnv
  userAgent: string
  now: () => number
}

/**
 * Returns the configured remote storage, without checking it; null for the data directory.
 *
 * @throws GdnError if a secret is missing, or if others may read it
 */
export async function openRemoteFiles(entry: StorageEntry, context: RemoteContext): Promise<RemoteFiles | null> {
  const { userAgent } = context
  if (entry.kind === 'files') return null
  if (entry.kind === 'ipfs') {
    const { auth_file: file, auth_credential: credential } = entry
    const open = file !== undefined || credential !== undefined
    const header = () =>
      toAuthorization(readSecret({ file, credential, what: 'authorizes requests to the IPFS node' }, context))
    return openKuboNode({
      api: entry.api,
      authorization: open ? cacheValue(header, context.now) : null,
      userAgent,
    })
  }
  const { bucket, prefix, region, endpoint = null } = entry
  const credentials = cacheValue(() => readCredentials(entry, context), context.now)
  await credentials()
  return openS3Bucket({
    bucket,
    prefix,
    region,
    endpoint,
    credentials,
    userAgent,
    pathStyle: entry.path_style ?? endpoint !== null,
  })
}

/**
 * Opens the configured pinning service; null if none is configured.
 *
 * @throws GdnError if the token is missing, or if others may read it
 */
export function openPinning(entry: PinningEntry | null, context: RemoteContext): PinningService | null {
  if (entry === null) return null
  const { endpoint, token_file: file, token_credential: credential } = entry
  const token = cacheValue(
    () => readSecret({ file, credential, what: 'authorizes requests to the pinning service' }, context),
    context.now,
  )
  return openPinningService({ endpoint, token, userAgent: context.userAgent })
}

async function readCredentials(entry: S3Entry, context: RemoteContext): Promise<AwsCredentials> {
  const { credentials_file: file, credentials_credential: credential, profile } = entry
  if (file === undefined && credential === undefined) return await readAwsCredentials(context.env)
  const { text, path } = readText(
    { file, credential, what: `authorizes requests to the bucket ${entry.bucket}` },
    context,
  )
  const credentials = parseCredentials(text, profile)
  if (credentials !== null) return credentials
  throw new GdnError('invalid_config', `the file has no credentials for profile ${profile}`, {
    hint: `Add [${profile}] with aws_access_key_id and aws_secret_access_key.`,
    place: { file: path },
  })
}

interface SecretSource {
  file: string | undefined
  credential: string | undefined
  what: string
}

function readText({ file, credential = '', what }: SecretSource, { credentialsDirectory }: RemoteContext) {
  if (file !== undefined) return { text: readSecretFile(file, MAX_SECRET_BYTES), path: file }
  return readCredential(credential, what, credentialsDirectory)
}

function readSecret(place: SecretSource, context: RemoteContext): Secret {
  const { text, path } = readText(place, context)
  return parsePassword(text.trimEnd(), path, passwordProblem)
}

/**
 * Returns the value of the Authorization header. If the secret is only a token, adds the scheme that most services
 * expect.
 */
function toAuthorization(secret: Secret): Secret {
  const text = secret.reveal()
  return text.includes(' ') ? secret : new Secret(`Bearer ${text}`)
}

/**
 * Returns a function that caches the value of `read`. `read` is called immediately, and again when the value is too
 * old.
 */
function cacheValue<Value>(read: () => Value, now: () => number): () => Value {
  let value = read()
  let readAt = now()
  return () => {
    const age = now() - readAt
    if (age >= 0 && age < SECRET_FRESH_MS) return value
    value = read()
    readAt = now()
    return value
  }
}

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GdnError, messageOf, systemCode } from '../core/errors.ts'
import { homeDirectory } from '../core/home-directory.ts'
import { Secret } from '../core/secret.ts'

export interface AwsCredentials {
  accessKeyId: string
  secretAccessKey: Secret
  /** Set only for temporary credentials. */
  sessionToken: Secret | null
}

/**
 * Reads credentials from the locations that AWS tools use. These are AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
 * AWS_SESSION_TOKEN, or else the profile AWS_PROFILE (default: `default`) in the file AWS_SHARED_CREDENTIALS_FILE
 * (default: `~/.aws/credentials`).
 *
 * @throws GdnError `unauthorized` if there are no credentials
 */
export async function readAwsCredentials(env: NodeJS.ProcessEnv): Promise<AwsCredentials> {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token } = env
  if (id && secret) return toCredentials(id, secret, token)
  const profile = env.AWS_PROFILE || 'default'
  const path = env.AWS_SHARED_CREDENTIALS_FILE || join(homeDirectory(env), '.aws', 'credentials')
  const saved = parseCredentials(await readIfThere(path), profile)
  if (saved !== null) return saved
  throw new GdnError('unauthorized', 'there are no credentials for the S3 storage', {
    hint: `Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or add the profile ${profile} to ${path}.`,
  })
}

/** Returns the credentials of a profile in the text of a credentials file; null if there are none. */
export function parseCredentials(text: string, profile: string): AwsCredentials | null {
  const { aws_access_key_id: id, aws_secret_access_key: secret, aws_session_token: token } = parseProfile(text, profile)
  return id && secret ? toCredentials(id, secret, token) : null
}

function toCredentials(id: string, secret: string, token: string | undefined): AwsCredentials {
  return { accessKeyId: id, secretAccessKey: new Secret(secret), sessionToken: token ? new Secret(token) : null }
}

async function readIfThere(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return ''
    throw new GdnError('unauthorized', `can't read the credentials in ${path}: ${messageOf(error)}`, {
      hint: 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead.',
      cause: error,
    })
  }
}

/** Returns the settings of a profile in an INI file. */
function parseProfile(text: string, profile: string): Record<string, string> {
  const settings: Record<string, string> = {}
  let section = ''
  for (const line of text.split(/\r?\n/)) {
    const header = /^\s*\[\s*(.*?)\s*\]/.exec(line)
    if (header !== null) section = header[1] ?? ''
    const setting = /^\s*([a-z_]+)\s*=\s*(.*?)\s*$/i.exec(line)
    if (section === profile && setting !== null) settings[(setting[1] ?? '').toLowerCase()] = setting[2] ?? ''
  }
  return settings
}

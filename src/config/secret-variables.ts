import { decodeComponent } from '../core/decode-component.ts'
import { parseUrl } from '../core/parse-url.ts'
import { findKeysInUrl, Secret } from '../core/secret.ts'

/** Variables whose entire value is secret. */
const SECRET_VARIABLES = ['GDN_API_KEY', 'GDN_OPENSEA_KEY', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'] as const

/** Variables that contain a proxy URL, which may include a password. */
const PROXY_VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()])

/** Yields the secrets in an environment, each with the name of its variable. */
function* findSecrets(env: NodeJS.ProcessEnv): Iterable<{ name: string; secret: string }> {
  for (const name of SECRET_VARIABLES) {
    const secret = env[name]
    if (secret) yield { name, secret }
  }
  for (const name of ['GDN_RPC_URL', 'GDN_FORK_URL', 'GDN_ENS_RPC_URL']) {
    for (const secret of findKeysInUrl(env[name] ?? '')) yield { name, secret }
  }
  for (const name of ['GDN_DATABASE_URL', 'GDN_DATABASE_DIRECT_URL']) {
    const password = parseUrl(env[name] ?? '')?.password ?? ''
    if (password === '') continue
    yield { name, secret: password }
    yield { name, secret: decodeComponent(password) }
  }
  for (const name of PROXY_VARIABLES) {
    const url = parseUrl(env[name] ?? '')
    if (url === null || url.password === '') continue
    yield { name, secret: url.password }
    yield { name, secret: decodeComponent(url.password) }
    // The proxy authorization header contains the credentials in this form.
    yield {
      name,
      secret: Buffer.from(`${decodeComponent(url.username)}:${decodeComponent(url.password)}`).toString('base64'),
    }
  }
}

/** Registers the secrets in the environment at process start, so that they are redacted in all output. */
export function registerSecrets(env: NodeJS.ProcessEnv): void {
  for (const { secret } of findSecrets(env)) new Secret(secret)
}

/**
 * Removes the secrets from the process environment, so that diagnostic reports and child processes don't contain them.
 * Also registers the secrets, so that they are redacted in all output. Returns the original environment for code that
 * needs it.
 */
export function takeSecretVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const variables = { ...env }
  registerSecrets(variables)
  for (const { name } of findSecrets(variables)) delete env[name]
  return variables
}

import { Secret } from '../core/secret.ts'
import { credentialsFile, userConfigFile } from './paths.ts'
import { readTextIfThere } from './read-text.ts'
import type { UserConfig } from './schema.ts'
import { refuseLooseFile } from './secret-file.ts'
import { parseStrictJson } from './strict-json.ts'

const MAX_BYTES = 1024 * 1024

/** The user's configuration; empty where there is no file. */
export async function readUserConfig(env: NodeJS.ProcessEnv): Promise<UserConfig> {
  const path = userConfigFile(env)
  const text = await readTextIfThere(path, MAX_BYTES, 'invalid_config')
  if (text === null) return {}
  const { parseUserConfig } = await import('./schema.ts')
  return parseUserConfig(parseStrictJson(text, path, 'invalid_config'), path)
}

/** API keys by the origin that each was saved for. */
export async function readCredentials(env: NodeJS.ProcessEnv): Promise<Record<string, string>> {
  const path = credentialsFile(env)
  const text = await readTextIfThere(path, MAX_BYTES, 'invalid_config')
  if (text === null) return {}
  await refuseLooseFile(path)
  const { parseCredentials } = await import('./schema.ts')
  return parseCredentials(parseStrictJson(text, path, 'invalid_config'), path)
}

/** The key saved for an origin, and for no other. */
export async function savedApiKey(env: NodeJS.ProcessEnv, origin: string): Promise<Secret | null> {
  const keys = await readCredentials(env)
  const key = Object.hasOwn(keys, origin) ? keys[origin] : undefined
  return key === undefined ? null : new Secret(key)
}

import { userConfigFile } from './paths.ts'
import { readTextIfThere } from './read-text.ts'
import type { UserConfig } from './schema.ts'

const MAX_CONFIG_BYTES = 1024 * 1024

/** Returns the user's configuration, which is empty if there is no file. */
export async function readUserConfig(env: NodeJS.ProcessEnv): Promise<UserConfig> {
  const path = userConfigFile(env)
  const text = await readTextIfThere(path, MAX_CONFIG_BYTES, 'invalid_config')
  if (text === null) return {}
  const [{ parseUserConfig }, { parseStrictJson }] = await Promise.all([
    import('./schema.ts'),
    import('../core/strict-json.ts'),
  ])
  return parseUserConfig(parseStrictJson(text, path, 'invalid_config'), path)
}

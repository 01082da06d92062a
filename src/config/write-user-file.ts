import { GdnError, messageOf } from '../core/errors.ts'
import { writePrivateFile } from '../core/private-file.ts'
import { userConfigFile } from './paths.ts'
import type { UserConfig } from './schema.ts'

export async function writeUserConfig(env: NodeJS.ProcessEnv, config: UserConfig): Promise<void> {
  await writePrivately(userConfigFile(env), `${JSON.stringify(config, null, 2)}\n`)
}

/** Writes a file atomically. The file is readable only by its owner from the moment it is created. */
export async function writePrivately(path: string, text: string): Promise<void> {
  try {
    await writePrivateFile(path, text)
  } catch (error) {
    throw new GdnError('invalid_config', `can't be written: ${messageOf(error)}`, {
      place: { file: path },
      cause: error,
    })
  }
}

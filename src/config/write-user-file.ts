import { randomBytes } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { GdnError, messageOf } from '../core/errors.ts'
import { userConfigFile } from './paths.ts'
import type { UserConfig } from './schema.ts'

export async function writeUserConfig(env: NodeJS.ProcessEnv, config: UserConfig): Promise<void> {
  await writePrivately(userConfigFile(env), `${JSON.stringify(config, null, 2)}\n`)
}

/** Whole or not at all, readable by its owner only from the first byte on. */
export async function writePrivately(path: string, text: string): Promise<void> {
  const temp = `${path}.${randomBytes(6).toString('hex')}`
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const file = await open(temp, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temp, path)
  } catch (error) {
    await rm(temp, { force: true })
    throw new GdnError('invalid_config', `can't be written: ${messageOf(error)}`, {
      place: { file: path },
      cause: error,
    })
  }
}
